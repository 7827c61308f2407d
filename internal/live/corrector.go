package live

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockpick/internal/resp"
	"lockpick/internal/tap"
)

// corrector asks a node when keys end that its shadow knows the ends of to about a
// millisecond. The question is a line of MONITOR too: the answer is about the key
// as the shadow has it at that line. Its methods are called with node.mu held.
type corrector struct {
	node      *node
	addr      string // of its connection, as the node says it
	questions chan string

	asked []question // that were heard, or answered, and are not both
}

// question is one about a key.
type question struct {
	key      string
	heard    bool
	saw      time.Time // the end that the shadow had when it was heard
	answered bool
	end      int64 // in milliseconds, negative when the key has none
}

// correctorName is the name of its connection.
const correctorName = "lockpick:corrector"

// questionsAtOnce is more than a node is asked before it has answered. More are not
// asked: what the shadow guesses is good enough for most.
const questionsAtOnce = 1000

func newCorrector(n *node) *corrector {
	return &corrector{node: n, questions: make(chan string, questionsAtOnce)}
}

// ask wants to know when the keys end.
func (c *corrector) ask(keys []string) {
	for _, key := range keys {
		select {
		case c.questions <- key:
		default:
		}
	}
}

// heard takes the line of a question.
func (c *corrector) heard(s *tap.Shadow, key string) {
	c.about(key, func(q *question) bool { return !q.heard }, func(q *question) { q.heard, q.saw = true, s.End(key) })
}

// answer takes the node's answer.
func (c *corrector) answer(key string, reply []byte) {
	end, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(string(reply), ":"), "\r\n"), 10, 64)
	if err != nil {
		end = -1 // it says something else, as one does that is loading its data
	}
	c.about(key, func(q *question) bool { return !q.answered }, func(q *question) { q.answered, q.end = true, end })
}

// about changes the first question about a key that is open, and corrects the
// shadow when it is heard and answered.
func (c *corrector) about(key string, open func(*question) bool, change func(*question)) {
	at := -1
	for i := range c.asked {
		if c.asked[i].key == key && open(&c.asked[i]) {
			at = i
			break
		}
	}
	if at < 0 {
		c.asked = append(c.asked, question{key: key})
		at = len(c.asked) - 1
	}
	q := &c.asked[at]
	change(q)
	if !q.heard || !q.answered {
		return
	}
	shadow := c.node.shadow
	if q.end > 0 && !q.saw.IsZero() && shadow.End(key).Equal(q.saw) {
		shadow.Correct(key, time.UnixMilli(q.end))
	}
	c.asked = append(c.asked[:at], c.asked[at+1:]...)
}

// run asks the node until ctx ends. It begins anew when the node comes up again.
func (c *corrector) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = c.node.ask(ctx, func(do resp.Asker) error { // which ends when the node goes down
			c.forget()
			if _, err := do("CLIENT", "SETNAME", correctorName); err != nil {
				return err
			}
			return c.serve(ctx, do)
		})
		select {
		case <-ctx.Done():
		case <-time.After(unheard / 20): // it is down
		}
	}
}

func (c *corrector) forget() {
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	c.asked = nil
}

func (c *corrector) serve(ctx context.Context, do resp.Asker) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case key := <-c.questions:
			reply, err := do("PEXPIRETIME", key)
			if err != nil {
				return err
			}
			c.node.mu.Lock()
			c.answer(key, reply)
			c.node.mu.Unlock()
		}
	}
}

// start is run in a goroutine of its own, which has ended when stop returns.
func (c *corrector) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { c.run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}
