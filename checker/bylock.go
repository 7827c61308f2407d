package checker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockpick/checker/history"
)

// A history of several locks is judged lock by lock: each lock has clients, keys
// and a resource of its own, and so a history of its own. What is said of it names
// the records of the whole.

// share is one lock's part of a history.
type share struct {
	number  int // of the lock, from 1
	h       *history.History
	records []int // by record: its place in the whole
}

// shares takes the history apart. What strikes no client, what the harness remarks,
// and what a node says of itself are in every lock's part.
func shares(h *history.History) []share {
	d := newDealer(h.Header)
	all := make([]share, h.Header.Lock.Count)
	for n := range all {
		all[n] = share{number: n + 1, h: &history.History{Header: d.header(n + 1), Complete: h.Complete}}
	}
	for i := range h.Records {
		take := func(s *share) { s.h.Records, s.records = append(s.h.Records, h.Records[i]), append(s.records, i) }
		whose := d.whose(&h.Records[i])
		for _, n := range whose {
			take(&all[n-1])
		}
		for n := range all {
			if whose == nil {
				take(&all[n])
			}
		}
	}
	return all
}

// dealer knows which locks a record belongs to.
type dealer struct {
	head  history.Header
	uses  map[string]int // by client: its lock
	nodes map[string]bool
}

func newDealer(head history.Header) *dealer {
	d := &dealer{head: head, uses: map[string]int{history.Probe: 1}, nodes: map[string]bool{}}
	for i, name := range head.Workload.Clients {
		d.uses[name] = i%head.Lock.Count + 1
	}
	for _, name := range head.Topology.Nodes {
		d.nodes[name] = true
	}
	return d
}

// header is that of lock n's part.
func (d *dealer) header(n int) history.Header {
	h := d.head
	h.Lock.Key, h.Lock.Count = h.Lock.KeyOf(n), 0
	others := func(client string) bool { return d.uses[client] != n }
	h.Workload.Clients = slices.DeleteFunc(slices.Clone(h.Workload.Clients), others)
	h.Workload.Readers = slices.DeleteFunc(slices.Clone(h.Workload.Readers), others)
	return h
}

// whose returns the locks that a record belongs to, or nil for all of them.
func (d *dealer) whose(r *history.Record) []int {
	switch {
	case d.uses[r.Who] > 0:
		return d.of(r.Who)
	case r.Kind == history.Fault && r.Op != "partition", r.Kind == history.Note && r.Op == history.Stuck:
		return d.struck(r)
	case r.Kind != history.Observe, r.Op == history.Role, r.Op == history.Sentry, r.Op == history.Load:
		return nil
	case r.Op == history.Command: // a thread may speak for the locks of its whole process
		return distinct(append(d.of(r.Client), d.named(r.Command...)...))
	case r.Op == history.Push:
		return d.of(r.Client)
	}
	switch named := d.named(r.Key); {
	case named != nil:
		return named
	case d.nodes[r.Who]:
		return []int{1} // some lock has to answer for a key beside the locks' own
	}
	return d.of(r.Client)
}

// struck returns the locks of the clients that a fault or a remark is of.
func (d *dealer) struck(r *history.Record) []int {
	var whose []int
	for _, name := range targets(r.Target) {
		threads := []string{name}
		if r.StrikesProcess() {
			threads = d.head.Workload.Process(name)
		}
		for _, thread := range threads {
			whose = append(whose, d.of(thread)...)
		}
	}
	return distinct(whose)
}

// distinct sorts numbers, which may be none, and drops the repeated ones.
func distinct(numbers []int) []int {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// of returns the lock that a client uses.
func (d *dealer) of(client string) []int {
	if n := d.uses[client]; n > 0 {
		return []int{n}
	}
	return nil
}

// named returns the locks that texts name, as order:7 and {order:7}:queue do.
func (d *dealer) named(texts ...string) []int {
	var list []int
	for _, text := range texts {
		for {
			_, rest, found := strings.Cut(text, d.head.Lock.Key+":")
			if !found {
				break
			}
			var n int
			if n, text = numbered(rest, d.head.Lock.Count); n > 0 && !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

// numbered returns the number of a lock, of so many, that a text begins with, and
// what follows; 0 when it begins with none.
func numbered(text string, locks int) (n int, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	digits := strings.TrimSuffix(text, rest)
	n, err := strconv.Atoi(digits)
	if err != nil || n > locks || strings.HasPrefix(digits, "0") {
		return 0, rest
	}
	return n, rest
}

// judgeByLock applies the checks to each lock's part of the history.
func judgeByLock(h *history.History, checks []Check) []Result {
	parts := make([][]Result, len(checks))
	mates := processes(h.Header)
	for _, s := range shares(h) {
		arranged := once(func() *index {
			ix := indexed(s.h, mates)
			ix.number = s.number
			return ix
		})
		for i, c := range checks {
			res := c.on(arranged)
			s.retell(&res, h.Header.Lock.KeyOf(s.number))
			parts[i] = append(parts[i], res)
		}
	}
	results := make([]Result, len(checks))
	for i := range checks {
		results[i] = merged(h.Header.Lock, parts[i])
	}
	return results
}

// retell names the lock, and the lines of the whole history in place of those of
// the part.
func (s share) retell(res *Result, key string) {
	for i := range res.Findings {
		f := &res.Findings[i]
		f.Cause = key + ": " + f.Cause
		for k, line := range f.Lines {
			f.Lines[k] = history.Line(s.records[line-history.Line(0)])
		}
	}
}

// merged makes one result of one check's results of all locks: the worst verdict,
// all findings. A lock in which nothing puts the promise to the test has no say,
// unless none has.
func merged(l history.Lock, parts []Result) Result {
	res := Result{Check: parts[0].Check, Verdict: Holds, Figures: mergedFigures(parts)}
	res.Idle = !slices.ContainsFunc(parts, func(p Result) bool { return !p.Idle })
	var unknown []int
	for i, p := range parts {
		if p.Idle && !res.Idle {
			continue
		}
		res.Verdict = Merge(res.Verdict, p.Verdict)
		res.Findings = append(res.Findings, p.Findings...)
		if p.Verdict == Unknown {
			unknown = append(unknown, i)
		}
	}
	if res.Verdict == Unknown {
		res.Reason = parts[unknown[0]].Reason
		if len(unknown) < len(parts) {
			res.Reason = l.KeyOf(unknown[0]+1) + ": " + res.Reason
		}
	}
	slices.SortStableFunc(res.Findings, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
	if rest := len(res.Findings) - maxFindings; rest > 0 {
		res.Findings = res.Findings[:maxFindings]
		res.Figures = addFigure(res.Figures, Figure{Name: NotShown, Value: float64(rest)})
	}
	return res
}

// ofTheWorst are the figures of which the highest of all locks counts. The others
// are counts, and are added up.
var ofTheWorst = map[string]bool{"longest gap": true, "highest fence": true, "overtakes of one wait, most": true}

func mergedFigures(parts []Result) []Figure {
	var all []Figure
	for _, p := range parts {
		for _, f := range p.Figures {
			all = addFigure(all, f)
		}
	}
	return all
}

// addFigure adds a figure of one lock to those of the others.
func addFigure(all []Figure, f Figure) []Figure {
	k := slices.IndexFunc(all, func(o Figure) bool { return o.Name == f.Name })
	switch {
	case k < 0:
		return append(all, f)
	case ofTheWorst[f.Name]:
		all[k].Value = max(all[k].Value, f.Value)
	default:
		all[k].Value += f.Value
	}
	return all
}
