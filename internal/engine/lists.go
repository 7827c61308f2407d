package engine

import (
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// list returns the elements of the list that the command is for. It is false, and
// has answered, when the key is of another type.
func (c *call) list() ([]string, bool) {
	switch c.key() {
	case "":
		return nil, true
	case "list":
	default:
		return nil, !c.fail(errWrongType)
	}
	all, err := c.db().List(c.args[1])
	if err != nil {
		return nil, !c.fail("ERR " + err.Error())
	}
	return all, true
}

// listPop answers LPOP and RPOP.
func listPop(c *call) bool {
	count, counted := int64(1), len(c.args) > 2
	if len(c.args) > 3 {
		return c.fail(arityError(c.name))
	}
	if counted {
		var ok bool
		if count, ok = integer(c.args[2]); !ok || count < 0 {
			return c.fail(errPositive)
		}
	}
	all, ok := c.list()
	switch {
	case !ok:
		return true
	case all == nil && counted:
		c.peer.Block(func(w *server.Writer) { writeNoArray(c.peer, w) })
		return true
	case all == nil:
		c.peer.WriteNull()
		return true
	}
	pop := c.db().Lpop
	if c.name == "RPOP" {
		pop = c.db().Pop
	}
	var popped []string
	for range min(count, int64(len(all))) {
		v, err := pop(c.args[1])
		if err != nil {
			return c.fail("ERR " + err.Error())
		}
		popped = append(popped, v)
	}
	if counted {
		c.peer.WriteStrings(popped)
	} else {
		c.peer.WriteBulk(popped[0])
	}
	return true
}

// listIndex lets miniredis answer LINDEX and LSET of a list that there is.
func listIndex(c *call) bool {
	switch c.key() {
	case "":
	case "list":
		return false
	default:
		return c.fail(errWrongType)
	}
	if c.name == "LSET" {
		return c.fail("ERR no such key")
	}
	c.peer.WriteNull()
	return true
}

// listRemove lets miniredis answer LREM of what is there; it would take a list
// that does not change for one that did, and a watched key for touched.
func listRemove(c *call) bool {
	if _, ok := integer(c.args[2]); !ok {
		return c.fail(errNotInteger)
	}
	all, ok := c.list()
	if ok && !slices.Contains(all, c.args[3]) {
		c.peer.WriteInt(0)
		return true
	}
	return !ok
}

// listMove lets miniredis answer LMOVE with ends that there are, and RPOPLPUSH,
// unless it would forget when the list ends.
func listMove(c *call) bool {
	for _, end := range c.args[3:] {
		if !strings.EqualFold(end, "LEFT") && !strings.EqualFold(end, "RIGHT") {
			return c.fail(errSyntax)
		}
	}
	left := c.db().TTL(c.args[1])
	if left == 0 || c.args[1] != c.args[2] || c.key() != "list" {
		return false
	}
	c.engine.toMiniredis(c.peer, c.args)
	c.db().SetTTL(c.args[1], left)
	return true
}

// listInsert lets miniredis answer LINSERT with a place that there is.
func listInsert(c *call) bool {
	if !strings.EqualFold(c.args[2], "BEFORE") && !strings.EqualFold(c.args[2], "AFTER") {
		return c.fail(errSyntax)
	}
	return false
}

// positions is what LPOS is asked for.
type positions struct {
	rank, count, most int64
	counted           bool
}

// parsePositions reads the options of LPOS and returns what is wrong with them.
// (lposCommand of Redis.)
func parsePositions(options []string) (p positions, problem string) {
	p.rank = 1
	for ; len(options) > 0; options = options[2:] {
		if len(options) == 1 {
			return p, errSyntax
		}
		n, ok := integer(options[1])
		switch option := strings.ToUpper(options[0]); {
		case option == "RANK" && ok && n == 0:
			return p, "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list"
		case option == "RANK" && ok:
			p.rank = n
		case option == "RANK":
			return p, errNotInteger
		case option == "COUNT" && ok && n >= 0:
			p.count, p.counted = n, true
		case option == "COUNT":
			return p, "ERR COUNT can't be negative"
		case option == "MAXLEN" && ok && n >= 0:
			p.most = n
		case option == "MAXLEN":
			return p, "ERR MAXLEN can't be negative"
		default:
			return p, errSyntax
		}
	}
	return p, ""
}

// listPositions answers LPOS.
func listPositions(c *call) bool {
	p, problem := parsePositions(c.args[3:])
	if problem != "" {
		return c.fail(problem)
	}
	all, ok := c.list()
	if !ok {
		return true
	}
	var found []int
	skip := p.rank
	if p.rank < 0 {
		skip = -p.rank
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	if p.most > 0 {
		all = all[:min(p.most, int64(len(all)))]
	}
	length := 0
	if full, ok := c.list(); ok {
		length = len(full)
	}
	for i, v := range all {
		if v != c.args[2] {
			continue
		}
		if skip--; skip > 0 {
			continue
		}
		if p.rank < 0 {
			i = length - 1 - i
		}
		found = append(found, i)
		if !p.counted || p.count > 0 && int64(len(found)) == p.count {
			break
		}
	}
	switch {
	case p.counted:
		c.peer.WriteLen(len(found))
		for _, i := range found {
			c.peer.WriteInt(i)
		}
	case len(found) == 0:
		c.peer.WriteNull()
	default:
		c.peer.WriteInt(found[0])
	}
	return true
}
