package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/checker/history"
)

// access is one section's use of the resource.
type access struct {
	update
	client      string
	round       int
	read, write int // records of the read's end and the write's begin; -1 when there is none
	end         int // the record that ended it; -1 when none did
}

// begun is its first record.
func (a *access) begun() int {
	if a.read < 0 {
		return a.write
	}
	return a.read
}

func (a *access) String() string { return phrase("%s (round %d)", a.client, a.round) }

// book is the account of the resource.
type book struct {
	initial      int64
	accesses     []access // in the order in which they ended, those that did not last
	acknowledged int
	unknown      int
	final        *int64 // what the store had at the end; nil when nobody looked
	finalRecord  int
	end          time.Duration // when somebody looked, or else the end of the history
}

// book pairs every client's reads and writes.
func (ix *index) book() *book {
	b := &book{initial: ix.h.Header.Workload.Initial, finalRecord: -1, end: ix.end}
	reads := map[section]*op{} // that no write has followed yet
	for i := range ix.ops {
		o := &ix.ops[i]
		key := section{o.client, ix.rec(o.begin).Round}
		switch o.name {
		case history.Read:
			ix.bookRead(b, reads[key])
			delete(reads, key)
			if o.outcome == history.OK && ix.rec(o.end).Value != nil {
				reads[key] = o
			}
		case history.Write:
			if o.outcome != history.Fail && ix.rec(o.begin).Value != nil {
				ix.bookWrite(b, reads[key], o)
				delete(reads, key)
			}
		}
	}
	for _, o := range reads {
		if ix.h.Complete { // else its write may come yet
			ix.bookRead(b, o)
		}
	}
	slices.SortFunc(b.accesses, func(x, y access) int {
		return cmp.Or(cmp.Compare(x.ret, y.ret), cmp.Compare(x.begun(), y.begun()))
	})
	for i := len(ix.h.Records) - 1; i >= 0; i-- {
		if r := ix.rec(i); ix.looked(i) {
			b.final, b.finalRecord, b.end = r.Value, i, r.T
			break
		}
	}
	return b
}

func (ix *index) bookRead(b *book, o *op) {
	if o == nil {
		return
	}
	b.accesses = append(b.accesses, access{
		update: update{call: o.from, ret: o.to, was: *ix.rec(o.end).Value, reads: true},
		client: o.client.name, round: ix.rec(o.begin).Round, read: o.end, write: -1, end: o.end,
	})
}

func (ix *index) bookWrite(b *book, read, write *op) {
	a := access{
		update: update{call: write.from, ret: write.to, is: *ix.rec(write.begin).Value, writes: true, maybe: write.unsettled()},
		client: write.client.name, round: ix.rec(write.begin).Round, read: -1, write: write.begin, end: write.end,
	}
	if read != nil {
		a.call, a.was, a.reads, a.read = read.from, *ix.rec(read.end).Value, true, read.end
	}
	if a.maybe {
		a.ret = forever
		b.unknown++
	} else {
		b.acknowledged++
	}
	b.accesses = append(b.accesses, a)
}

// updates returns the first n accesses for Porcupine. The final value is a read
// that comes after all of them, if it is asked for by n being all.
func (b *book) updates(n int) []update {
	out := make([]update, 0, n+1)
	for i := range b.accesses[:n] {
		out = append(out, b.accesses[i].update)
	}
	if n == len(b.accesses) && b.final != nil {
		out = append(out, update{call: b.end, ret: b.end, was: *b.final, reads: true})
	}
	return out
}
