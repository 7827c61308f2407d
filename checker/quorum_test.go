package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A value that comes to one node when it leaves another was held throughout.
func TestReignGoesOn(t *testing.T) {
	lives := []*life{{span: span{0, 5}, place: place{node: "a"}, how: deleted}, {span: span{5, 9}, place: place{node: "b"}, how: deleted}}
	if got := reignsOf(lives, 1, 1); len(got) != 1 || got[0].span != (span{0, 9}) {
		t.Errorf("the reigns are %v", got)
	}
}

// Instant by instant, a value reigns while enough nodes have it.
func TestReigns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for range 5_000 {
		var lives []*life
		for node := range 5 {
			for from := time.Duration(rnd.IntN(6)); from < 30 && rnd.IntN(4) > 0; {
				to := from + 1 + time.Duration(rnd.IntN(8))
				if rnd.IntN(6) == 0 {
					to = forever
				}
				lives = append(lives, &life{span: span{from, to}, place: place{node: fmt.Sprint(node)}, how: deleted})
				if to == forever {
					break
				}
				from = to + 1 + time.Duration(rnd.IntN(5))
			}
		}
		quorum := 1 + rnd.IntN(3)
		reigns := reignsOf(lives, quorum, 1)
		for now := range time.Duration(60) {
			n := 0
			for _, l := range lives {
				if l.from <= now && now < l.to {
					n++
				}
			}
			reigning := slices.ContainsFunc(reigns, func(r reign) bool { return r.from <= now && now < r.to })
			if reigning != (n >= quorum) {
				t.Fatalf("at %d %d nodes have the value, %d are needed, and it reigns: %t", now, n, quorum, reigning)
			}
		}
		for i, r := range reigns {
			if r.to != forever && (r.last == nil || r.last.to != r.to) {
				t.Fatalf("reign %d ends at %d with a life that ends at another time", i, r.to)
			}
		}
	}
}
