package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// waitingOn is a WAIT that was not answered yet.
type waitingOn struct {
	cmd    *command
	count  int
	offset int64
}

// acked counts the replicas that have everything up to the offset.
func (n *node) acked(offset int64) int {
	count := 0
	for _, f := range n.role.feeds {
		if f.online && f.acked >= offset {
			count++
		}
	}
	return count
}

// wait answers WAIT, at once or when enough replicas have what the connection
// wrote. Replicas say how far they are after every write, so they need not be
// asked.
func (n *node) wait(cmd *command) bool {
	c := cmd.conn
	count, err := strconv.Atoi(cmd.args[1])
	millis, err2 := strconv.ParseInt(cmd.args[2], 10, 64)
	switch {
	case n.role.primary != nil:
		c.session.Peer.WriteError("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
		return true
	case err != nil:
		c.session.Peer.WriteError("ERR value is not an integer or out of range")
		return true
	case err2 != nil:
		c.session.Peer.WriteError("ERR timeout is not an integer or out of range")
		return true
	case millis < 0:
		c.session.Peer.WriteError("ERR timeout is negative")
		return true
	}
	if have := n.acked(c.wrote); have >= count {
		c.session.Peer.WriteInt(have)
		return true
	}
	one := &waitingOn{cmd, count, c.wrote}
	c.blocked = true
	n.role.waiting = append(n.role.waiting, one)
	if millis > 0 {
		n.world.After(time.Duration(millis)*time.Millisecond, func() {
			n.handle(func() {
				if slices.Contains(n.role.waiting, one) {
					n.answerWait(one)
				}
			})
		})
	}
	return false
}

// settle answers the WAITs that have waited long enough.
func (n *node) settle() {
	for _, one := range slices.Clone(n.role.waiting) {
		if n.acked(one.offset) >= one.count {
			n.answerWait(one)
		}
	}
}

func (n *node) answerWait(one *waitingOn) {
	n.role.waiting = slices.DeleteFunc(n.role.waiting, func(o *waitingOn) bool { return o == one })
	n.unblock(one.cmd, fmt.Appendf(nil, ":%d\r\n", n.acked(one.offset)))
}
