package checker

import (
	"cmp"
	"slices"
	"time"
)

func mutualExclusion() Check {
	return Check{
		Name:    "mutual-exclusion",
		Letter:  "M",
		Promise: "No two clients hold the lock at the same time, as they believe.",
		How: "A client believes in a lease from the return of Acquire until it calls Release, it dies or finishes, " +
			"its Lost channel closes, or its Until passes. Two such beliefs of different clients that overlap are a " +
			"violation, unless both are shared; beliefs that meet at one instant are not. One sweep, O(n log n). It sees only what clients " +
			"believe: a lock that was taken from a client while nobody else came goes unnoticed here.",
		judge: judgeMutualExclusion,
	}
}

// judgeMutualExclusion walks over the holds in the order in which they began,
// with the holds in the order in which they ended running behind. What began
// and has not ended is held; a hold that begins while another client's is held
// overlaps it.
func judgeMutualExclusion(ix *index) Result {
	if ix.tried() == 0 {
		return undecided("no client tried to get the lock")
	}
	starts := make([]int, 0, len(ix.holds)) // in order already
	for i := range ix.holds {
		if ix.holds[i].length() > 0 {
			starts = append(starts, i)
		}
	}
	type finish struct {
		at   time.Duration
		hold int
	}
	ends := make([]finish, len(starts))
	for k, i := range starts {
		ends[k] = finish{ix.holds[i].to, i}
	}
	slices.SortFunc(ends, func(a, b finish) int { return cmp.Compare(a.at, b.at) })

	all, exclusive := newTally(len(ix.clients)), newTally(len(ix.clients))
	var ev evidence
	for _, i := range starts {
		now := ix.holds[i].from
		for len(ends) > 0 && ends[0].at <= now {
			all.remove(ix.holder(ends[0].hold).number)
			if !ix.shared(ends[0].hold) {
				exclusive.remove(ix.holder(ends[0].hold).number)
			}
			ends = ends[1:]
		}
		c := ix.holder(i)
		against := all
		if ix.shared(i) {
			against = exclusive
		}
		if others := against.others(c.number); others > 0 {
			if ev.full() {
				ev.total += others
			} else {
				for _, k := range ix.overlapping(i) {
					ix.tellOverlap(&ev, k, i)
				}
			}
		}
		all.add(c.number)
		if !ix.shared(i) {
			exclusive.add(c.number)
		}
	}
	return ev.result(Figure{Name: "overlaps", Value: float64(ev.total)})
}

func (ix *index) holder(hold int) *client { return ix.leases[ix.holds[hold].lease].client }

// shared reports whether a hold goes together with others that are shared.
func (ix *index) shared(hold int) bool { return ix.leases[ix.holds[hold].lease].shared }

// overlapping returns, for every other client that holds the lock when hold i
// begins and does not share it, the one of its holds that lasts longest. It is asked only a few times.
func (ix *index) overlapping(i int) []int {
	longest := map[*client]int{}
	var order []*client
	for k := range i {
		c := ix.holder(k)
		if ix.holds[k].to <= ix.holds[i].from || ix.holds[k].length() == 0 || c == ix.holder(i) ||
			ix.shared(k) && ix.shared(i) {
			continue
		}
		if old, ok := longest[c]; !ok {
			order = append(order, c)
			longest[c] = k
		} else if ix.holds[k].to > ix.holds[old].to {
			longest[c] = k
		}
	}
	var out []int
	for _, c := range order {
		out = append(out, longest[c])
	}
	return out
}

// tellOverlap adds the finding that hold b began while hold a lasted.
func (ix *index) tellOverlap(ev *evidence, a, b int) {
	if ev.full() {
		ev.total++
		return
	}
	first, second := &ix.holds[a], &ix.holds[b]
	x, y := &ix.leases[first.lease], &ix.leases[second.lease]
	cause := phrase("%s got the lock at %v while %s, granted at %v, still believed in it until %v",
		y.client.name, second.from, x.client.name, first.from, first.to)
	who := []string{x.client.name, y.client.name}
	culprit, why, record := ix.whyTwo(x, y, second.from)
	if why != "" {
		cause += ": " + why
	}
	ev.add(second.from, append([]string{culprit}, who...), cause,
		ix.ops[x.acquire].end, ix.ops[y.acquire].end, first.record, record)
}

// whyTwo says why y was granted at t in spite of x, whom to blame for it (empty
// when it is x), and the record that shows it.
func (ix *index) whyTwo(x, y *lease, t time.Duration) (culprit, why string, record int) {
	if len(ix.keys().lives) == 0 || ix.blind() != "" {
		return "", "", -1
	}
	served, ok := ix.served(x)
	switch {
	case !ok:
		return "", phrase("the servers had never granted it to %s", x.client.name), -1
	case served.to <= t:
		if served.last.how == deleted || served.last.how == replaced {
			culprit = served.last.by
		}
		why, record = ix.story(served.last)+ix.whereabouts(x.client.name, t), served.last.end
		if served.last.how == demoted {
			if text, _ := ix.without(x.client.name, x.owner, t); text != "" {
				why += ", and " + text
			}
		}
		return culprit, why, record
	}
	if _, ok := ix.served(y); !ok {
		return y.client.name, phrase("the servers had not granted it to %s", y.client.name), -1
	}
	if text, record := ix.without(x.client.name, x.owner, t); text != "" {
		return "", text, record
	}
	if last := ix.follower(x, t); last != nil {
		return "", ix.story(last), last.end
	}
	if text := ix.apart(x, y, t); text != "" {
		return "", text, -1
	}
	return "", "the servers granted it to both", -1
}

// tally counts the holds of every client and the clients that have any.
type tally struct {
	holds   []int
	holding int
}

func newTally(clients int) *tally { return &tally{holds: make([]int, clients)} }

func (t *tally) add(client int) {
	if t.holds[client]++; t.holds[client] == 1 {
		t.holding++
	}
}

func (t *tally) remove(client int) {
	if t.holds[client]--; t.holds[client] == 0 {
		t.holding--
	}
}

// others is how many clients but the given one hold the lock.
func (t *tally) others(client int) int {
	if t.holds[client] > 0 {
		return t.holding - 1
	}
	return t.holding
}
