package tap

import (
	"fmt"
	"strconv"
	"time"

	"lockpick/internal/keyspace"
)

// Sync makes the shadow equal to the server, and records the differences with the
// text and as no client's doing: after a restart, with or without the data, after a
// replica has got everything anew from its primary, or when the shadow has Strayed.
// do sends a command to the server on a connection of its own, in database 0, and
// returns the bytes of the reply. When there is an error nothing has changed.
//
// All keys are read at one instant, by one script, whose line MONITOR prints in its
// place among the others. What was executed before it is part of what it has read:
// the lines up to it, which have been or will be given to Apply, are passed over.
// So a Monitor must be watching when Sync is called, and when that Monitor ends
// before the script's line has come, the next one needs a Sync of its own.
//
// Only database 0 is read. A shadow is not told which scripts the server knows, and
// forgets them.
func (s *Shadow) Sync(at time.Time, do func(args ...string) ([]byte, error), text string) error {
	s.syncs++
	mark := fmt.Sprintf("lockpick:sync:%d:%d", at.UnixNano(), s.syncs)
	reply, err := do("EVAL", readAll, "0", mark)
	if err != nil {
		return fmt.Errorf("tap: sync: %w", err)
	}
	found, err := parseKeys(reply)
	if err != nil {
		return fmt.Errorf("tap: sync: %w", err)
	}
	s.Advance(at)
	s.install(found)
	s.text = text
	s.keys.Compare("")
	s.text = ""
	s.mark, s.strayed, s.awaited = mark, "", 0
	s.rehearsal.engine.ForgetScripts()
	return nil
}

// install makes the keys of database 0 those that were found.
func (s *Shadow) install(found []foundKey) {
	db, now := s.machine.engine.DB(0), s.machine.engine.Now()
	for _, key := range db.Keys() {
		db.Del(key)
	}
	for _, f := range found {
		f.Write(db, f.name) // it is of a kind that parseKeys lets pass
		if f.ends < 0 {
			continue
		}
		if left := time.UnixMilli(f.ends).Add(lastMoment).Sub(now); left > 0 {
			db.SetTTL(f.name, left)
		} else {
			db.Del(f.name) // it has ended since it was read
		}
	}
}

// readAll is the script that reads all keys: the name of each, its type, its end,
// and what it holds.
const readAll = `
local all, cursor = {}, '0'
local how = {
	string = {'GET'}, hash = {'HGETALL'}, list = {'LRANGE', 0, -1}, set = {'SMEMBERS'},
	zset = {'ZRANGE', 0, -1, 'WITHSCORES'},
}
repeat
	local page = redis.call('SCAN', cursor, 'COUNT', 1000)
	cursor = page[1]
	for _, key in ipairs(page[2]) do
		local kind, parts = redis.call('TYPE', key).ok, {}
		if how[kind] then
			parts = redis.call(how[kind][1], key, unpack(how[kind], 2))
			if kind == 'string' then parts = {parts} end
		end
		if kind ~= 'none' then
			all[#all + 1] = {key, kind, redis.call('PEXPIRETIME', key), parts}
		end
	end
until cursor == '0'
return all`

// foundKey is a key of the server.
type foundKey struct {
	name string
	keyspace.Value
	ends int64 // by Unix time in milliseconds, negative for never
}

// parseKeys reads the reply to readAll.
func parseKeys(reply []byte) ([]foundKey, error) {
	r := &reader{rest: reply}
	var all []foundKey
	for range r.length('*') {
		if r.length('*') != 4 {
			r.fail()
		}
		k := foundKey{name: r.text(), Value: keyspace.Value{Kind: r.text()}, ends: r.integer()}
		for range r.length('*') {
			k.Parts = append(k.Parts, r.text())
		}
		if r.err != nil {
			break
		}
		if !sound(k.Value) {
			return nil, fmt.Errorf("key %q is a %s of %d parts, which cannot be followed", k.name, k.Kind, len(k.Parts))
		}
		all = append(all, k)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.fail()
	}
	return all, r.err
}

// sound reports whether a value of a server's can be written to a database.
func sound(v keyspace.Value) bool {
	n := len(v.Parts)
	switch v.Kind {
	case "string":
		return n == 1
	case "list", "set":
		return n > 0
	case "hash":
		return n > 0 && n%2 == 0
	case "zset":
		for i := 1; i < n; i += 2 {
			if _, err := strconv.ParseFloat(v.Parts[i], 64); err != nil {
				return false
			}
		}
		return n > 0 && n%2 == 0
	default:
		return false
	}
}
