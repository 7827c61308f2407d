package engine

import (
	"bufio"
	"slices"
	"strconv"
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

// combine lets miniredis answer SINTER, SUNION or SDIFF and puts the members into
// order, which there follows from nothing. In RESP3 they are a set.
func combine(c *call) bool {
	var b replyBuffer
	twin := server.NewPeer(bufio.NewWriter(&b))
	twin.Ctx, twin.Resp3 = c.peer.Ctx, c.peer.Resp3
	c.engine.toMiniredis(twin, c.args)
	twin.Flush()
	if b.bytes[0] == '-' {
		c.peer.WriteRaw(string(b.bytes))
		return true
	}
	members := bulks(b.bytes)
	slices.Sort(members)
	if c.peer.Resp3 {
		c.peer.WriteSetLen(len(members))
	} else {
		c.peer.WriteLen(len(members))
	}
	for _, m := range members {
		c.peer.WriteBulk(m)
	}
	return true
}

// bulks returns the elements of an array or a set of strings.
func bulks(reply []byte) []string {
	var all []string
	for _, rest, more := strings.Cut(string(reply), "\r\n$"); more; {
		head, body, _ := strings.Cut(rest, "\r\n")
		n, err := strconv.Atoi(head)
		if err != nil {
			panic(err) // miniredis has written it
		}
		all = append(all, body[:n])
		rest, more = strings.CutPrefix(body[n:], "\r\n$")
	}
	return all
}
