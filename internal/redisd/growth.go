package redisd

import "time"

const (
	// maxSamples is how many sizes are kept before some are dropped. Those that
	// then stay, of a day, are half as many.
	maxSamples = 1 << 15

	// fineness says which stay: from one to the next it is no longer than this part
	// of how long ago it is.
	fineness = 2048
)

// sample is a size that a file had. It stands for all the time until the next one.
type sample struct {
	at   time.Time
	file int // the number of the file, 0 when there was none
	size int64
}

// growth is the sizes that a server's file had, oldest first.
type growth struct{ samples []sample }

// add takes in a size, which is the newest.
func (g *growth) add(s sample) {
	// what was beyond the end of a file that has become shorter is gone
	for i := len(g.samples) - 1; i >= 0 && g.samples[i].file == s.file && g.samples[i].size > s.size; i-- {
		g.samples[i].size = s.size
	}
	if n := len(g.samples); n > 0 && g.samples[n-1].file == s.file && g.samples[n-1].size == s.size {
		return
	}
	if len(g.samples) >= maxSamples {
		g.thin()
	}
	g.samples = append(g.samples, s)
}

// thin drops samples that are close to the next one, seen from now.
func (g *growth) thin() {
	all, newest := g.samples, g.samples[len(g.samples)-1]
	kept := all[:1]
	for i, s := range all[1 : len(all)-1] {
		last, next := kept[len(kept)-1], all[i+2]
		if s.file != last.file || next.at.Sub(last.at) > newest.at.Sub(last.at)/fineness {
			kept = append(kept, s)
		}
	}
	g.samples = append(kept, newest)
}

// before returns the newest sample that is not younger than t, if there is one.
func (g *growth) before(t time.Time) (sample, bool) {
	for i := len(g.samples) - 1; i >= 0; i-- {
		if !g.samples[i].at.After(t) {
			return g.samples[i], true
		}
	}
	return sample{}, false
}

// forget drops the samples that are younger than t.
func (g *growth) forget(t time.Time) {
	for n := len(g.samples); n > 0 && g.samples[n-1].at.After(t); n-- {
		g.samples = g.samples[:n-1]
	}
}
