package checker

import (
	"math/bits"
	"slices"
)

func (f *frontier) isSpent(c *config, t *tenure) bool {
	return t.slot >= 0 && c.spent&(1<<t.slot) != 0
}

// isOutdone reports whether there is a better hold to begin now than that of which:
// one whose windows close no later. In a continuation that begins with which, the other one can
// take its place: either both change places, or the other is followed by which
// when that lasts longer than the other may.
func (f *frontier) isOutdone(c *config, which int) bool {
	t := &f.tenures[which]
	if !f.isFree(t) {
		return false
	}
	for _, other := range f.open {
		o := &f.tenures[other]
		if other == which || !f.isFree(o) || f.isSpent(c, o) || o.start.to > t.start.to || o.end.to > t.end.to {
			continue
		}
		if o.start.to < t.start.to || o.end.to < t.end.to || other < which {
			return true
		}
	}
	return false
}

// isFree reports whether a hold that begins now can end at any time that suits.
func (f *frontier) isFree(t *tenure) bool {
	return !t.optional() && t.end.from <= f.now && len(t.gaps) == 0
}

// slotOf returns the bit of a tenure, which it gets when it is spent first.
func (f *frontier) slotOf(which int) uint64 {
	t := &f.tenures[which]
	if t.slot < 0 && f.slots != allSlots {
		t.slot = int8(bits.TrailingZeros64(^f.slots))
		f.slots |= 1 << t.slot
	}
	if t.slot < 0 {
		return 0
	}
	return 1 << t.slot
}

// forget ends the time in which a tenure may begin and is told apart, and returns
// its bit.
func (f *frontier) forget(which int) uint64 {
	if i := slices.Index(f.open, which); i >= 0 {
		f.open = slices.Delete(f.open, i, i+1)
	}
	t := &f.tenures[which]
	if t.slot < 0 {
		return 0
	}
	bit := uint64(1) << t.slot
	f.slots &^= bit
	t.slot = -1
	return bit
}
