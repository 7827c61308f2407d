package checker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockpick/checker/history"
)

// resourceHistory lets three clients read and write a resource at random. Half
// of the values that they read are what the resource had at some time.
func resourceHistory(seed uint64) *history.History {
	names := []string{"client-1", "client-2", "client-3"}
	s := newScript(seed, names...)
	counter := s.IntN(2) == 0
	if counter {
		s.h.Header.Workload.Resource = "counter"
	}
	value := int64(0)
	type state struct {
		busy  *history.Record
		read  *int64
		round int
	}
	clients := map[string]*state{}
	for _, n := range names {
		clients[n] = &state{round: 1}
	}
	writes := 0
	for range 40 {
		s.tick()
		name := names[s.IntN(len(names))]
		c := clients[name]
		switch {
		case c.busy != nil && c.busy.Op == history.Read:
			r := *c.busy
			c.busy = nil
			v := value
			if s.IntN(4) == 0 {
				v = int64(s.IntN(4))
			}
			r.Value = history.Int(v)
			c.read = r.Value
			s.finish(r, history.OK)
		case c.busy != nil:
			r := *c.busy
			c.busy, c.read = nil, nil
			kind := []history.Kind{history.OK, history.OK, history.OK, history.Unknown, history.Fail}[s.IntN(5)]
			if kind == history.OK || kind == history.Unknown && s.IntN(2) == 0 {
				value = *r.Value
			}
			s.finish(r, kind)
			c.round++
		case writes < 6 && (c.read != nil || s.IntN(20) == 0):
			writes++
			v := int64(s.IntN(4))
			if c.read != nil && counter {
				v = *c.read + 1
			}
			r := s.begin(history.Record{Who: name, Op: history.Write, Round: c.round, Value: &v})
			c.busy = &r
		case writes < 6 && s.IntN(3) == 0:
			r := s.begin(history.Record{Who: name, Op: history.Read, Round: c.round})
			c.busy = &r
		}
	}
	if s.IntN(2) == 0 {
		s.now += 2
		s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Keys, Value: history.Int(value)})
	}
	return s.end()
}

// explainable tries every order of the updates, each that may have happened with
// and without.
func explainable(state int64, left []update) bool {
	if !slices.ContainsFunc(left, func(u update) bool { return !u.maybe }) {
		return true // what may have happened need not have
	}
	first := time.Duration(1 << 62)
	for _, u := range left {
		first = min(first, u.ret)
	}
	for i, u := range left {
		if u.call > first {
			continue // something had ended before it began
		}
		rest := append(slices.Clone(left[:i:i]), left[i+1:]...)
		if u.maybe && explainable(state, rest) {
			return true
		}
		next := state
		if u.reads && u.was != state {
			continue
		}
		if u.writes {
			next = u.is
		}
		if explainable(next, rest) {
			return true
		}
	}
	return false
}

func TestNoLostUpdateOracle(t *testing.T) {
	seeds := uint64(6_000)
	if testing.Short() {
		seeds = 600
	}
	counts := map[Verdict]int{}
	unknowns := 0
	for seed := range seeds {
		h := resourceHistory(seed)
		b := newIndex(h).book()
		if len(b.accesses) > 9 {
			continue
		}
		want := Violated
		if explainable(b.initial, b.updates(len(b.accesses))) {
			want = Holds
		}
		res := noLostUpdate().Judge(h)
		if res.Verdict == Unknown && b.acknowledged == 0 {
			continue
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, b.show())
		}
		if want == Violated && len(res.Findings) == 0 {
			t.Errorf("seed %d: a violation without a finding", seed)
		}
		counts[want]++
		unknowns += b.unknown
	}
	t.Logf("%d writes without a reply", unknowns)
	mustBoth(t, counts)
}

func (b *book) show() string {
	out := ""
	for _, a := range b.updates(len(b.accesses)) {
		out += fmt.Sprintf("%+v\n", a)
	}
	return out
}

// A history with many sections that overlap, many without a reply, and no cheap
// proof against it: Porcupine must give up in time and the verdict be Unknown,
// or it must decide.
func TestNoLostUpdateHasALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for some seconds of processor time")
	}
	var updates []update
	for i := range 40 {
		updates = append(updates, update{call: time.Duration(i), was: int64(i % 5), is: int64((i + 1) % 5), reads: true, writes: true, maybe: true, ret: forever})
	}
	for i := range 12 {
		updates = append(updates, update{call: 1000, ret: 2000, was: int64(i % 5), reads: true})
	}
	updates = append(updates, update{call: 3000, ret: 3001, was: 77, reads: true})
	if got := linearizable(0, updates, 50*time.Millisecond); got == Holds {
		t.Errorf("linearizable = %v for a history that nothing explains", got)
	}
}

// staleHistory gives every client sections with leases that end, and accesses
// in and out of them.
func TestStaleUseOracle(t *testing.T) {
	counts := map[Verdict]int{}
	for seed := range uint64(20_000) {
		h := usedHistory(seed)
		want := Holds
		for i, r := range h.Records {
			if r.Kind == history.Observe && r.Op == history.Apply && dumbOver(h, i, r.Client, r.T) ||
				r.Kind == history.Invoke && r.Op == history.Read && dumbOver(h, i, r.Who, r.T) {
				want = Violated
			}
		}
		res := staleUse().Judge(h)
		if res.Verdict == Unknown {
			t.Fatalf("seed %d: %v", seed, res)
		}
		if res.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, res, want, show(h))
		}
		counts[want]++
	}
	mustBoth(t, counts)
}

// usedHistory is a few sections of one client at a time, with the node's record
// of the key and the store's of the writes. Round and owner go together.
func usedHistory(seed uint64) *history.History {
	s := newScript(seed, "client-1")
	node := func(op, owner string, ttl time.Duration) {
		s.add(history.Record{Who: "redis-1", Kind: history.Observe, Op: op, Key: "k", Owner: owner, Holder: "client-1", Client: "client-1", TTL: ttl})
	}
	for round := 1; round <= 2; round++ {
		owner := fmt.Sprint("owner", round)
		me := history.Record{Who: "client-1", Round: round}
		s.now++
		r := me
		r.Op = history.Acquire
		r = s.begin(r)
		s.now++
		gone := false
		node(history.Granted, owner, 4)
		s.now++
		r.Owner = owner
		if s.IntN(2) == 0 {
			r.Until = s.now + time.Duration(s.IntN(15))
		}
		s.finish(r, history.OK)
		r = me
		r.Op, r.Owner = history.Release, owner
		for range s.IntN(7) {
			s.now += time.Duration(s.IntN(3))
			switch o := me; s.IntN(6) {
			case 0, 1:
				o.Op = history.Read
				o = s.begin(o)
				o.Value = history.Int(0)
				s.finish(o, history.OK)
			case 2, 3:
				o.Op, o.Value = history.Write, history.Int(int64(s.id))
				o = s.begin(o)
				s.now += time.Duration(s.IntN(4))
				s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Apply, Client: "client-1", Value: o.Value})
				s.finish(o, history.OK)
			case 4:
				if !gone {
					s.now++
					node(history.Expired, owner, 0)
					gone = true
				}
			case 5:
				o.Kind, o.Op, o.Owner = history.Observe, history.Lost, owner
				s.add(o)
			}
		}
		s.now++
		r = s.begin(r)
		s.now++
		if !gone {
			node(history.Deleted, owner, 0)
		}
		s.finish(r, history.OK)
	}
	return s.end()
}

// dumbOver says whether anything had ended the client's newest lease before t.
func dumbOver(h *history.History, i int, client string, t time.Duration) bool {
	over := false
	for _, r := range h.Records[:i] {
		switch {
		case r.Op == history.Acquire && r.Kind == history.OK && r.Who == client:
			over = r.Until > 0 && r.Until < t
		case r.T >= t:
		case r.Op == history.Lost && r.Who == client,
			r.Op == history.Expired && r.Holder == client,
			r.Op == history.Release && r.Kind == history.Invoke && r.Who == client:
			over = true
		}
	}
	return over
}
