package reports

import (
	"fmt"
	"strings"

	"lockpick/checker/history"
)

// life tells what became of the lock's key on its nodes: the second thing to
// look at.
func (c *cast) life() []entry {
	var indices []int
	usual := tally{}
	held := map[string]map[string]string{}
	news := map[int]string{} // by line: what a node that takes a role has
	for i, r := range c.h.Records {
		if r.Kind == history.Observe && r.Op != history.Role {
			follow(held, r)
		}
		switch {
		case r.Kind == history.Observe && r.Op == history.Role:
			if !c.starts(i) {
				indices = append(indices, i)
				news[history.Line(i)] = c.promoted(r, held[r.Who])
			}
		case r.Kind != history.Observe || deed(r.Op) == "":
		case ofStore(r) && !c.cited[history.Line(i)]:
		case c.crowd(r.Holder) && (r.Client == "" || r.Client == r.Holder) && !c.cited[history.Line(i)]:
			usual[deed(r.Op)]++
		default:
			indices = append(indices, i)
		}
	}
	var items []item
	for _, s := range c.gather(indices, c.lifeSign) {
		e := entry{t: s.T, lines: s.lines, who: c.whereAs(s)}
		if s.Op == history.Role {
			e.ink, e.keep, e.text = warn, true, news[s.lines[0]]
			items = append(items, item{entry: e, stream: e.who, sign: e.text, label: e.text})
			continue
		}
		e.ink, e.text = c.stage(s)
		if len(c.keys) > 1 && s.Op != history.Keys {
			e.text = s.Key + " " + e.text
		}
		by := ""
		if s.Client != "" {
			by = " by " + s.Client
		}
		items = append(items, item{entry: e, stream: s.Key, sign: lifeSign(s.Record), label: deed(s.Op), by: by})
	}
	out := c.fold(items)
	if len(usual) > 0 {
		out = append(out, entry{still: true, text: fmt.Sprintf("the leases of %s: %s", count(c.others, "more client"), usual.list(len(usual)))})
	}
	return out
}

// ofStore reports whether a record of a key is of the store, whose keys are but the
// names of its resources.
func ofStore(r history.Record) bool { return r.Key == "" || r.Value != nil }

// deed is what changes of a key's life are counted as, and "" for other records.
func deed(op string) string {
	return map[string]string{
		history.Granted: "grants", history.Replaced: "replacements", history.Renewed: "renewals", history.Shortened: "cuts",
		history.Deleted: "deletions", history.Expired: "expiries", history.Keys: "keys left",
	}[op]
}

// lifeSign tells apart what nodes of different roles go through.
func (c *cast) lifeSign(i int) string {
	r := c.h.Records[i]
	if r.Op == history.Role {
		return r.Op + "\x00" + r.Text + "\x00" + r.Target
	}
	return lifeSign(r) + "\x00" + c.role(r.Who, i)
}

func lifeSign(r history.Record) string {
	return fmt.Sprintf("%s %s %s %s %s %s %s", r.Op, r.Key, r.Owner, r.Client, r.Holder, r.Was, r.Text)
}

// stage tells one change of a key. What a client does to the lease of another
// is a broken promise in all but name.
func (c *cast) stage(s *spread) (ink, string) {
	r, by := s.Record, s.Client
	copied := by == "" && c.role(r.Who, s.lines[0]-history.Line(0)) == history.Replica
	if copied {
		by = "its primary"
	}
	k, whose := plain, ""
	if r.Holder != "" && r.Client != "" && r.Client != r.Holder {
		k, whose = bad, ", though it is the lease of "+r.Holder
	}
	ttl := "TTL " + long(r.TTL)
	switch r.TTL {
	case history.NoTTL:
		ttl = "no TTL"
	case 0:
		ttl = "TTL unknown"
	}
	switch r.Op {
	case history.Granted:
		if r.TTL == history.NoTTL {
			k = warn
		}
		if copied {
			return k, fmt.Sprintf("receives %s of %s, %s", r.Owner, orWho(r.Holder, "nobody known"), ttl)
		}
		return k, fmt.Sprintf("granted to %s as %s, %s", orWho(r.Holder, r.Client), r.Owner, ttl)
	case history.Replaced:
		return k, fmt.Sprintf("replaced by %s: %s became %s, %s", by, r.Was, r.Owner, ttl)
	case history.Renewed, history.Shortened:
		return k, fmt.Sprintf("%s %s by %s%s, now %s", r.Owner, r.Op, by, whose, ttl)
	case history.Deleted:
		if r.Client == "" && r.Text != "" {
			return warn, r.Owner + " " + r.Text
		}
		return k, fmt.Sprintf("%s deleted by %s%s", r.Owner, orWho(by, "nobody known"), whose)
	case history.Expired:
		text := r.Owner + " expired"
		if r.Holder != "" {
			text += ", the lease of " + r.Holder
		}
		return warn, text
	default: // history.Keys
		if r.TTL == history.NoTTL {
			k = warn
		}
		text := fmt.Sprintf("%s exists, %s", r.Key, ttl)
		if ofStore(r) {
			k, text = plain, strings.TrimSpace("the resource "+r.Key)+" is "+number(r.Value)
		}
		if r.Text != "" {
			text += " (" + r.Text + ")"
		}
		return k, text
	}
}

func orWho(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

// lockLine says what is locked, for whom, on what.
func lockLine(h *history.History) string {
	head := h.Header
	ttl := "no TTL"
	if head.Lock.TTL > 0 {
		ttl = "TTL " + long(head.Lock.TTL)
	}
	locks := "lock " + head.Lock.Key
	if n := head.Lock.Count; n > 1 {
		locks = fmt.Sprintf("%d locks, %s to %s", n, head.Lock.KeyOf(1), head.Lock.KeyOf(n))
	}
	if len(head.Lock.Also) > 0 {
		locks += " with " + strings.Join(head.Lock.Also, " and ")
	}
	text := fmt.Sprintf("%s · %s, %s, wait %s · %s", topologyLine(head.Topology), locks, ttl, long(head.Lock.Wait),
		count(len(head.Workload.Clients), "client"))
	if n := head.Workload.Threads; n > 1 {
		text += fmt.Sprintf(", %d to a process", n)
	}
	text += fmt.Sprintf(", %s each", count(max(head.Workload.Rounds, 1), "round"))
	if n := head.Workload.Nest; n > 1 {
		text += fmt.Sprintf(", nested %d deep", n)
		if m := head.Workload.Releases; m > 0 && m < n {
			text += ", released " + times(m)
		}
	}
	if n := len(head.Workload.Readers); n > 0 {
		text += fmt.Sprintf(", %s", count(n, "reader"))
	}
	if head.Workload.Resource != "" {
		text += fmt.Sprintf(" · %s, %d at first", head.Workload.Resource, head.Workload.Initial)
	}
	if head.TimeScale > 0 && head.TimeScale != 1 {
		text += fmt.Sprintf(" · time × %g", head.TimeScale)
	}
	return text
}
