package checker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker/history"
)

// The frontier is compared with Porcupine on small random histories of a lock
// without leases, and with a search through every order where there are leases.

// long reports whether the tests may take minutes.
func long() bool { return os.Getenv("LOCKPICK_LONG") != "" }

// ask has the frontier decide over raw operations. It reports how many
// configurations were alive at once.
func ask(ops []lockOp, weak bool) (Verdict, int) {
	attempts, uses, refusals, fits := arrange(ops)
	if !fits {
		return Violated, 0
	}
	holds, c := tenures(attempts, uses, terms{})
	if c != nil {
		return Violated, 0
	}
	if weak {
		refusals = nil
	}
	f := newFrontier(holds, refusals)
	return f.walk(forever).verdict, f.most
}

// arrange sorts raw operations into attempts with their uses and refusals. It
// reports false when a token was used with success that was never granted.
func arrange(ops []lockOp) (attempts []attempt, uses []use, refusals []refusal, fits bool) {
	byToken := map[int]int{}
	for i, o := range ops {
		switch {
		case o.name != history.Acquire:
		case o.learned == no:
			refusals = append(refusals, refusal{o.span, i})
		default:
			byToken[o.token] = len(attempts)
			attempts = append(attempts, attempt{span: o.span, op: i, yields: forever})
		}
	}
	for i, o := range ops {
		if o.name == history.Acquire {
			continue
		}
		a, ok := byToken[o.token]
		switch {
		case ok:
			uses = append(uses, use{span: o.span, attempt: a, op: i, release: o.name == history.Release, learned: o.learned})
		case o.learned == yes:
			return nil, nil, nil, false
		}
	}
	return attempts, uses, refusals, true
}

// chance is a lock that clients use at random.
type chance struct {
	*rand.Rand
	ops     []lockOp
	unknown float64
	ties    bool
	seq     time.Duration
}

// instant returns a time in [from, to), distinct from all others unless ties are wanted.
func (c *chance) instant(from, to time.Duration) time.Duration {
	t := from + time.Duration(c.Int64N(int64(max(1, to-from))))
	if c.ties {
		return t
	}
	c.seq++
	return t<<10 + c.seq
}

func (c *chance) coarse(t time.Duration) time.Duration {
	if c.ties {
		return t
	}
	return t >> 10
}

// draw makes a history that is nearly legal: clients one operation after the other,
// outcomes from one order, and a few of them turned round.
func draw(seed uint64, ops int, unknown float64) []lockOp {
	c := &chance{Rand: rand.New(rand.NewPCG(seed, 7)), unknown: unknown}
	c.ties = c.IntN(4) == 0
	c.intervals(2 + c.IntN(ops-1))
	c.outcomes()
	for range c.IntN(3) {
		o := &c.ops[c.IntN(len(c.ops))]
		switch o.learned {
		case yes:
			o.learned = no
		case no:
			o.learned = yes
		default:
		}
	}
	for i := range c.ops {
		if c.ops[i].learned == unsure {
			c.ops[i].to = forever
		}
	}
	return c.ops
}

func (c *chance) intervals(n int) {
	type actor struct {
		idle   time.Duration
		tokens []int
		held   int
	}
	actors := make([]actor, 2+c.IntN(3))
	stretch := time.Duration(3 + c.IntN(30))
	for token := 1; len(c.ops) < n; {
		k := c.IntN(len(actors))
		a := &actors[k]
		from := c.instant(a.idle, a.idle+12)
		to := c.instant(c.coarse(from)+1, c.coarse(from)+1+stretch)
		o := lockOp{span: span{from, to}, client: k, name: history.Acquire}
		if x := c.IntN(10); len(a.tokens) == 0 || a.held == 0 && x < 7 || x == 0 {
			o.token, a.held = token, token
			a.tokens = append(a.tokens, token)
			token++
		} else {
			o.name, o.token = history.Release, a.tokens[len(a.tokens)-1]
			if x < 4 {
				o.name = history.Extend
			} else {
				a.held = 0
			}
			if c.IntN(12) == 0 {
				o.token = a.tokens[c.IntN(len(a.tokens))]
			}
		}
		a.idle = c.coarse(to) + time.Duration(c.IntN(2))
		if !c.ties {
			a.idle = c.coarse(to) + 1
		}
		c.ops = append(c.ops, o)
	}
}

// outcomes applies the operations at one instant each.
func (c *chance) outcomes() {
	type point struct {
		at time.Duration
		op int
	}
	var points []point
	for i := range c.ops {
		o := &c.ops[i]
		p := point{o.from + time.Duration(c.Int64N(int64(o.length()+1))), i}
		o.learned = no
		if c.Float64() < c.unknown {
			o.learned = unsure
			if c.IntN(2) == 0 {
				continue // it is lost
			}
			if c.IntN(2) == 0 {
				p.at += time.Duration(c.IntN(20)) * (1 + o.length()) / 4
			}
		}
		points = append(points, p)
	}
	slices.SortStableFunc(points, func(a, b point) int { return int(a.at - b.at) })
	held := 0
	for _, p := range points {
		o := c.ops[p.op]
		o.learned = yes
		fits, next := o.step(held)
		if !fits {
			continue
		}
		held = next
		if c.ops[p.op].learned == no {
			c.ops[p.op].learned = yes
		}
	}
}

func showOps(ops []lockOp) string {
	var b strings.Builder
	for i, o := range ops {
		to := fmt.Sprint(int64(o.to))
		if o.to == forever {
			to = ""
		}
		fmt.Fprintf(&b, "%d: client %d %s of %d, %d..%s %s\n", i, o.client, o.name, o.token, o.from, to, o.learned)
	}
	return b.String()
}

// weaker drops the refused acquires.
func weaker(ops []lockOp) []lockOp {
	return slices.DeleteFunc(slices.Clone(ops), func(o lockOp) bool {
		return o.name == history.Acquire && o.learned == no
	})
}

func mustAgree(t *testing.T, ops []lockOp, what string, counts map[Verdict]int) {
	t.Helper()
	got, _ := ask(ops, false)
	want := lockOrder(ops, time.Minute)
	if got != want {
		t.Fatalf("%s: the frontier says %v and Porcupine %v of\n%s", what, got, want, showOps(ops))
	}
	counts[got]++
	got, _ = ask(ops, true)
	if want = lockOrder(weaker(ops), time.Minute); got != want {
		t.Fatalf("%s, refusals proving nothing: the frontier says %v and Porcupine %v of\n%s", what, got, want, showOps(ops))
	}
}

func TestFrontierAgreesWithPorcupine(t *testing.T) {
	n := uint64(10_000) // of each of the five kinds
	if long() {
		n = 200_000
	}
	kinds := []struct {
		ops     int
		unknown float64
	}{{12, 0}, {12, 0.1}, {14, 0.2}, {14, 0.5}, {16, 0.3}}
	counts := map[Verdict]int{}
	for k, kind := range kinds {
		for seed := range n {
			ops := draw(seed*10+uint64(k), kind.ops, kind.unknown)
			mustAgree(t, ops, fmt.Sprintf("kind %d, seed %d", k, seed), counts)
		}
	}
	mustBoth(t, counts)
}

// drawWide makes a history full of acquires that timed out and whose token was
// released with success later: the case where the choice of whom to give the lock
// matters, and where it may have been anybody for an instant.
func drawWide(seed uint64) []lockOp {
	c := &chance{Rand: rand.New(rand.NewPCG(seed, 9))}
	const end = 4000
	for i := range 1 + c.IntN(5) {
		a := c.instant(0, end/2)
		from := c.instant(c.coarse(a)+1, end-200)
		to := c.instant(c.coarse(from)+1, end+200)
		release := lockOp{span{from, to}, i, history.Release, 100 + i, yes}
		if c.IntN(4) == 0 { // of this one nobody knows either, and later it is gone
			release.to, release.learned = forever, unsure
			x := c.instant(c.coarse(from)+1, c.coarse(from)+300)
			y := c.instant(c.coarse(x)+1, c.coarse(x)+900)
			c.ops = append(c.ops, lockOp{span{x, y}, i, history.Extend, 100 + i, no})
		}
		c.ops = append(c.ops, lockOp{span{a, forever}, i, history.Acquire, 100 + i, unsure}, release)
		if c.IntN(3) == 0 {
			x := c.instant(c.coarse(a)+1, c.coarse(from)+1)
			y := c.instant(c.coarse(x)+1, c.coarse(x)+300)
			c.ops = append(c.ops, lockOp{span{x, y}, i, history.Extend, 100 + i, []answer{yes, no}[c.IntN(2)]})
		}
	}
	at := time.Duration(1)
	for g := range 1 + c.IntN(4) {
		a := c.instant(at, at+300)
		b := c.instant(c.coarse(a)+1, c.coarse(a)+200)
		from := c.instant(c.coarse(b)+1, c.coarse(b)+400)
		to := c.instant(c.coarse(from)+1, c.coarse(from)+200)
		at = c.coarse(to) + 1 + time.Duration(c.IntN(700))
		c.ops = append(c.ops,
			lockOp{span{a, b}, 50, history.Acquire, 1 + g, yes},
			lockOp{span{from, to}, 50, history.Release, 1 + g, yes})
	}
	at = 1
	for g := range 1 + c.IntN(4) {
		a := c.instant(at, at+900)
		b := c.instant(c.coarse(a)+1, c.coarse(a)+150)
		at = c.coarse(b) + 1
		c.ops = append(c.ops, lockOp{span{a, b}, 51, history.Acquire, 50 + g, no})
	}
	return c.ops
}

func TestFrontierChoosesAmongUnknownHolds(t *testing.T) {
	n := uint64(10_000)
	if long() {
		n = 200_000
	}
	counts := map[Verdict]int{}
	for seed := range n {
		mustAgree(t, drawWide(seed), fmt.Sprint("seed ", seed), counts)
	}
	mustBoth(t, counts)
}

// worst is n acquires that timed out, whose releases succeed at the very end, and
// between the holds of another client a refusal that only one of them explains.
func worst(n int) []lockOp {
	var ops []lockOp
	end := time.Duration(10_000 * (n + 4))
	for i := range n {
		at := time.Duration(i)
		ops = append(ops,
			lockOp{span{at, forever}, i, history.Acquire, 1000 + i, unsure},
			lockOp{span{1000 + at, end + at}, i, history.Release, 1000 + i, yes})
	}
	for g := range n / 2 {
		at := time.Duration(10_000 * (g + 1))
		ops = append(ops,
			lockOp{span{at, at + 100}, 5000, history.Acquire, 1 + g, yes},
			lockOp{span{at + 200, at + 300}, 5000, history.Release, 1 + g, yes},
			lockOp{span{at + 1000, at + 1100}, 5001, history.Acquire, 500 + g, no})
	}
	return ops
}

func TestFrontierStaysNarrow(t *testing.T) {
	for _, n := range []int{16, 60, 120} {
		got, most := ask(worst(n), false)
		if got != Holds || most > n+1 {
			t.Errorf("with %d unknown holds at once: %v, %d configurations", n, got, most)
		}
	}
}
