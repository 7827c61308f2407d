package checker

import (
	"errors"
	"slices"
	"time"

	"lockpick/checker/history"
)

// The limits of a picture.
const (
	maxDrawn  = 300             // operations that can still be told apart
	drawLimit = 2 * time.Second // for Porcupine, per window
)

// Picture draws why a history is not linearizable, as Porcupine's page of HTML: the
// operations around the one that the check found to fit no order, cut to the
// shortest window in which Porcupine finds none either. A lease that runs
// out is an operation of its own there. The error says why there is no picture; a history without such a
// violation has none.
func Picture(h *history.History) ([]byte, error) {
	if h.Header.Lock.Count > 1 {
		return pictureOf(shares(h))
	}
	ix := newIndex(h)
	found := judgeLinearizable(ix)
	if found.Verdict != Violated {
		return nil, errors.New("checker: there is no violation of linearizable to draw")
	}
	d := newDossier(ix)
	ops := d.drawn()
	names := make([]string, 2*len(ix.clients))
	for name, c := range ix.clients {
		names[c.number], names[len(ix.clients)+c.number] = name, "the lease of "+name
	}
	window := span{found.Findings[0].At, found.Findings[0].At}
	for _, line := range found.Findings[0].Lines {
		t := h.Records[line-history.Line(0)].T
		window.from, window.to = min(window.from, t), max(window.to, t)
	}
	for {
		cut := cutTo(ops, window)
		if len(cut) > maxDrawn {
			return nil, errors.New("checker: too many operations at once to draw them")
		}
		page, verdict, err := drawLock(cut, names, drawLimit)
		if err != nil || verdict != Holds || window.from < 0 {
			return page, err
		}
		window.from -= 1 + 2*window.length() // what matters began before
	}
}

// pictureOf draws the first of several locks that is not linearizable.
func pictureOf(parts []share) (page []byte, err error) {
	for _, s := range parts {
		if page, err = Picture(s.h); err == nil {
			break
		}
	}
	return page, err
}

// cutTo returns the operations that were open at some time in a window. What came
// of them after it is unknown there.
func cutTo(ops []lockOp, window span) []lockOp {
	inside := func(o *lockOp) bool {
		if o.to == forever { // one that is never known to end would be in every window after it
			return window.covers(o.from)
		}
		return o.meets(window)
	}
	tokens := map[int]bool{}
	for i := range ops {
		if inside(&ops[i]) {
			tokens[ops[i].token] = true
		}
	}
	var cut []lockOp
	for i := range ops {
		o := ops[i]
		// nothing makes sense without the acquire that yielded its token
		if !inside(&o) && (o.name != history.Acquire || !tokens[o.token]) {
			continue
		}
		if o.to > window.to {
			o.to, o.learned = forever, unsure
		}
		cut = append(cut, o)
	}
	return cut
}

// drawn is the dossier as operations with tokens. A token is an attempt's number.
func (d *dossier) drawn() []lockOp {
	var ops []lockOp
	add := func(n int, s span, name string, token int, learned answer) {
		if n >= 0 {
			ops = append(ops, lockOp{s, d.ix.ops[n].client.number, name, token + 1, learned})
		}
	}
	holds, _ := tenures(d.attempts, d.uses, d.lease)
	for i := range d.attempts {
		a := &d.attempts[i]
		learned := yes
		if a.to == forever {
			learned = unsure
		}
		add(a.op, a.span, history.Acquire, i, learned)
		ends, _ := leaseRuns(a, d.usesOf(i), d.lease)
		if ends = min(ends, a.yields); ends < forever && a.op >= 0 {
			certain, _ := certainEnd(i, a, holds[i].start.to, d.usesOf(i), d.lease)
			add(a.op, span{ends, certain}, expiry, i, unsure)
			ops[len(ops)-1].client += len(d.ix.clients) // a row of its own: the client goes on meanwhile
		}
	}
	for i := range d.uses {
		u, name := &d.uses[i], history.Extend
		if u.release {
			name = history.Release
		}
		add(u.op, u.span, name, u.attempt, u.learned)
	}
	for i := range d.refusals {
		add(d.refusals[i].op, d.refusals[i].span, history.Acquire, len(d.attempts)+i, no)
	}
	if d.never != nil {
		o := &d.ix.ops[d.never.ops[0]]
		add(d.never.ops[0], o.span, o.name, len(d.attempts)+len(d.refusals), yes)
	}
	slices.SortStableFunc(ops, func(a, b lockOp) int { return int(a.from - b.from) })
	return ops
}
