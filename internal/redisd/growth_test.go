package redisd

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var g growth
	for _, s := range []sample{{at(10), 0, 0}, {at(20), 1, 5}, {at(30), 1, 5}, {at(40), 1, 90}, {at(50), 1, 60}, {at(60), 1, 70}, {at(70), 2, 3}} {
		g.add(s)
	}
	for _, tt := range []struct {
		name string
		ms   int
		file int
		size int64
	}{
		{"no file", 19, 0, 0},
		{"the first size", 20, 1, 5},
		{"until there is another", 39, 1, 5},
		{"what was cut off later does not count", 45, 1, 60},
		{"it grows again", 65, 1, 70},
		{"the next file", 1000, 2, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, ok := g.before(at(tt.ms))
			if !ok || s.file != tt.file || s.size != tt.size {
				t.Errorf("after %d ms it is %+v, %t; want %d bytes of file %d", tt.ms, s, ok, tt.size, tt.file)
			}
		})
	}
	if s, ok := g.before(at(9)); ok {
		t.Errorf("before the first it is %+v", s)
	}
	g.forget(at(45))
	if s, _ := g.before(at(1000)); s.size != 60 {
		t.Errorf("after what came later was forgotten it is %+v", s)
	}
}

// Many sizes take bounded memory, and what is kept of them is true: a size that the
// file had at that time or a little before.
func TestGrowthIsBounded(t *testing.T) {
	start := time.Now()
	dice := rand.New(rand.NewPCG(1, 2))
	var g growth
	sizes := make([]int64, 3600*1000/int(lookEvery.Milliseconds())) // of an hour
	at := func(i int) time.Time { return start.Add(time.Duration(i) * lookEvery) }
	for i := range sizes {
		sizes[i] = 1 + dice.Int64N(100)
		if i > 0 {
			sizes[i] += sizes[i-1]
		}
		if g.add(sample{at(i), 1, sizes[i]}); len(g.samples) > maxSamples {
			t.Fatalf("there are %d samples", len(g.samples))
		}
	}
	for range 1000 {
		back := int(float64(len(sizes)) * math.Pow(2, -12*dice.Float64())) // from a second to an hour
		i := len(sizes) - back
		s, ok := g.before(at(i))
		if !ok || s.size > sizes[i] || s.size < sizes[max(0, i-2-back/(fineness/2))] {
			t.Fatalf("%d looks ago it was %+v, %t; want %d or a little less", back, s, ok, sizes[i])
		}
	}
	if s, _ := g.before(at(len(sizes))); s.size != sizes[len(sizes)-1] {
		t.Errorf("the newest is %d, want %d", s.size, sizes[len(sizes)-1])
	}
}
