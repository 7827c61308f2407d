package engine

import (
	"bufio"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// setChange lets miniredis answer SADD and SREM that change a set; it would take
// one that does not change for one that did, and a watched key for touched.
func setChange(c *call) bool {
	if c.key() != "set" {
		return false
	}
	for _, member := range c.args[2:] {
		if is, err := c.db().IsMember(c.args[1], member); err != nil || is == (c.name == "SREM") {
			return false
		}
	}
	c.peer.WriteInt(0)
	return true
}

// setMove lets miniredis answer SMOVE between two sets.
func setMove(c *call) bool {
	if c.args[1] != c.args[2] || c.key() != "set" {
		return false
	}
	is, err := c.db().IsMember(c.args[1], c.args[3])
	if err == nil && is {
		c.peer.WriteInt(1)
	} else {
		c.peer.WriteInt(0)
	}
	return true
}

// asSet lets miniredis answer a command and makes its array a set, as RESP3 has
// them.
func asSet(c *call) bool {
	if !c.peer.Resp3 {
		return false
	}
	var b replyBuffer
	twin := server.NewPeer(bufio.NewWriter(&b))
	twin.Ctx, twin.Resp3 = c.peer.Ctx, true
	c.engine.toMiniredis(twin, c.args)
	twin.Flush()
	reply := string(b.bytes)
	if rest, ok := strings.CutPrefix(reply, "*"); ok {
		reply = "~" + rest
	}
	c.peer.WriteRaw(reply)
	return true
}
