package tap

import (
	"strconv"

	"lockpick/internal/engine"
)

// machine executes commands on connections of its own.
type machine struct {
	engine   *engine.Engine
	sessions map[bool]*session // by whether they speak RESP3
}

// session is a connection; which client says what on it makes no difference.
type session struct {
	*engine.Session
	db int
}

func newMachine() (*machine, error) {
	e, err := engine.New()
	if err != nil {
		return nil, err
	}
	m := &machine{engine: e}
	m.connect()
	return m, nil
}

// connect makes the connections.
func (m *machine) connect() {
	m.sessions = map[bool]*session{false: {Session: engine.NewSession()}, true: {Session: engine.NewSession()}}
	m.execute(true, 0, []string{"HELLO", "3"})
}

// execute carries a command out in a database and returns the reply.
func (m *machine) execute(resp3 bool, db int, args []string) []byte {
	s := m.sessions[resp3]
	if s.db != db {
		m.engine.Execute(s.Session, []string{"SELECT", strconv.Itoa(db)})
		s.Reply()
		s.db = db
	}
	m.engine.Execute(s.Session, args)
	return s.Reply()
}
