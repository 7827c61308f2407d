package checker

import (
	"fmt"
	"runtime"
	"slices"
	"sort"
	"testing"
	"time"

	"lockpick/checker/history"
)

// longHistory is n operations, acquire and release by turns, of 100 clients
// that hand one lock around.
func longHistory(n int) *history.History {
	const clients = 100
	s := newScript(1)
	var names []string
	for i := range clients {
		names = append(names, fmt.Sprint("client-", i+1))
	}
	s.h.Header.Workload.Clients = names
	s.h.Records = make([]history.Record, 0, 2*n+1)
	for i := range n / 2 {
		r := history.Record{Who: names[i%clients], Op: history.Acquire, Round: i/clients + 1, Key: "k"}
		owner := fmt.Sprint("owner-", i)
		s.now += 100
		r = s.begin(r)
		s.now += 100
		r.Owner, r.Until = owner, s.now+30*time.Second
		s.finish(r, history.OK)
		r = history.Record{Who: r.Who, Op: history.Release, Round: r.Round, Key: "k", Owner: owner}
		s.now += 100
		r = s.begin(r)
		s.now += 100
		s.finish(r, history.OK)
	}
	return s.end()
}

func BenchmarkMutualExclusion(b *testing.B) {
	const ops = 1_000_000
	h := longHistory(ops)
	b.ResetTimer()
	for b.Loop() {
		if res := mutualExclusion().Judge(h); res.Verdict != Holds {
			b.Fatal(res)
		}
	}
	b.ReportMetric(ops*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// typical is a run of about 100 records: two clients, five sections each, with
// the node's and the store's records.
func typical() *history.History { return typicalOf(7, 2) }

// typicalOf is such a run with more sections and clients.
func typicalOf(sections, clients int) *history.History {
	var names []string
	for i := range clients {
		names = append(names, fmt.Sprint("client-", i+1))
	}
	s := newScript(1, names...)
	s.h.Header.Lock.TTL = 30 * time.Second
	stock := int64(max(200, sections))
	s.h.Header.Workload = history.Workload{Resource: "stock", Initial: stock, Clients: names}
	s.h.Records = make([]history.Record, 0, 13*sections+10)
	for i := range sections {
		who, owner := names[i%clients], fmt.Sprint("owner-", i)
		me := history.Record{Who: who, Round: i/clients + 1, Key: "k"}
		do := func(op string, learned func(*history.Record), during ...history.Record) {
			r := me
			r.Op = op
			if op == history.Release {
				r.Owner = owner
			}
			if op == history.Write {
				r.Value = history.Int(stock - 1)
			}
			s.now += time.Millisecond
			r = s.begin(r)
			for _, d := range during {
				s.now += time.Millisecond
				d.Kind, d.Client = history.Observe, who
				s.add(d)
			}
			s.now += time.Millisecond
			learned(&r)
			s.finish(r, history.OK)
		}
		key := history.Record{Who: "redis-1", Key: "k", Owner: owner, Holder: who}
		command, granted, deleted := key, key, key
		command.Op, command.Command = history.Command, []string{"SET", "k", owner}
		granted.Op, granted.TTL = history.Granted, 30*time.Second
		deleted.Op = history.Deleted
		do(history.Acquire, func(r *history.Record) { r.Owner, r.Until = owner, s.now+20*time.Second }, command, granted)
		do(history.Read, func(r *history.Record) { r.Value = history.Int(stock) })
		do(history.Write, func(*history.Record) {}, history.Record{Who: "store", Op: history.Apply, Value: history.Int(stock - 1)})
		do(history.Release, func(*history.Record) {}, command, deleted)
		stock--
	}
	s.add(history.Record{Who: history.World, Kind: history.Note, Op: history.Quiet})
	s.now += time.Minute
	s.add(history.Record{Who: history.World, Kind: history.Note, Op: history.Looked, Text: history.AfterLease})
	r := s.begin(history.Record{Who: history.Probe, Op: history.Acquire})
	s.now++
	s.add(history.Record{Who: "redis-1", Kind: history.Observe, Op: history.Granted, Key: "k", Owner: "p", Holder: history.Probe, Client: history.Probe, TTL: 30 * time.Second})
	s.now++
	r.Owner = "p"
	s.finish(r, history.OK)
	s.add(history.Record{Who: "store", Kind: history.Observe, Op: history.Keys, Value: history.Int(stock)})
	return s.end()
}

// It has no fences and no nested acquires: there is nothing to judge of them.
func TestTypicalHolds(t *testing.T) {
	h := typical()
	for _, c := range All() {
		want := Holds
		if c.Name == "fencing" || c.Name == "reentrancy" {
			want = Unknown
		}
		if res := c.Judge(h); res.Verdict != want {
			t.Errorf("%s: %v", c.Name, res)
		}
	}
}

func BenchmarkAll(b *testing.B) {
	h := typical()
	b.ReportMetric(float64(len(h.Records)), "records")
	for b.Loop() {
		JudgeAll(h, All())
	}
}

func BenchmarkEach(b *testing.B) {
	h := typical()
	for _, c := range All() {
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				c.Judge(h)
			}
		})
	}
}

// busy is a history of about n operations of clients that try one lock, wait for
// nobody, and lose a share of the answers. An acquire whose answer is lost is
// undone by the lock itself after a while. With a TTL, holders die now and then and
// their lease runs out.
type busy struct {
	*script
	n, clients int
	unknown    float64
	ttl        time.Duration

	due    []event
	holder string // the owner
	ends   time.Duration
	round  []int
	sent   int // operations
}

// event is something that the simulation does at a time.
type event struct {
	at time.Duration
	do func()
}

func (b *busy) after(mean time.Duration, do func()) {
	e := event{b.now + 1 + time.Duration(b.ExpFloat64()*float64(mean)), do}
	i := sort.Search(len(b.due), func(i int) bool { return b.due[i].at <= e.at }) // the next one is last
	b.due = slices.Insert(b.due, i, e)
}

func busyHistory(n, clients int, unknown float64, ttl time.Duration) *history.History {
	var names []string
	for i := range clients {
		names = append(names, fmt.Sprint("client-", i+1))
	}
	b := &busy{script: newScript(uint64(n+clients), names...), n: n, clients: clients, unknown: unknown, ttl: ttl, round: make([]int, clients)}
	b.h.Header.Lock.TTL = ttl
	b.h.Records = make([]history.Record, 0, 2*n+1)
	for i := range clients {
		b.after(time.Millisecond, func() { b.try(i) })
	}
	for len(b.due) > 0 {
		e := b.due[len(b.due)-1]
		b.due = b.due[:len(b.due)-1]
		b.now = max(b.now+1, e.at)
		e.do()
	}
	return b.end()
}

func (b *busy) held() bool { return b.holder != "" && (b.ttl == 0 || b.now < b.ends) }

// call does one operation: the server applies it, and the client learns of it, or not.
func (b *busy) call(r history.Record, apply func() bool, learn func(history.Kind)) {
	b.sent++
	r = b.begin(r)
	lost := b.Float64() < b.unknown
	if lost && b.IntN(2) == 0 {
		b.after(time.Second, func() { b.finish(r, history.Unknown); learn(history.Unknown) })
		return
	}
	b.after(50*time.Microsecond, func() {
		kind := history.Fail
		if apply() {
			kind = history.OK
		}
		if lost {
			kind = history.Unknown
		}
		b.after(50*time.Microsecond, func() {
			if kind == history.OK && r.Op != history.Release {
				r.Owner = fmt.Sprint(r.Who, "-", r.Round)
				if b.ttl > 0 {
					r.Until = b.now + b.ttl/2
				}
			}
			b.finish(r, kind)
			learn(kind)
		})
	})
}

// try is one attempt of client i.
func (b *busy) try(i int) {
	if b.sent >= b.n {
		return
	}
	b.round[i]++
	me := history.Record{Who: fmt.Sprint("client-", i+1), Round: b.round[i], Op: history.Acquire}
	owner := fmt.Sprint(me.Who, "-", me.Round)
	again := func() { b.after(300*time.Microsecond, func() { b.try(i) }) }
	give := func() bool {
		mine := b.held() && b.holder == owner
		if mine {
			b.holder = ""
		}
		return mine
	}
	b.call(me, func() bool {
		if b.held() {
			return false
		}
		b.holder, b.ends = owner, b.now+b.ttl
		return true
	}, func(k history.Kind) {
		switch {
		case k == history.Unknown:
			b.after(100*time.Microsecond, func() { give() })
			again()
		case k == history.OK && (b.ttl == 0 || b.IntN(100) > 0):
			me.Op, me.Owner = history.Release, owner
			b.after(300*time.Microsecond, func() { b.leave(me, give, again) })
		default:
			again()
		}
	})
}

// leave extends the lease now and then, and gives it back until the lock is free of it.
func (b *busy) leave(me history.Record, give func() bool, again func()) {
	if b.IntN(5) == 0 {
		e := me
		e.Op = history.Extend
		b.call(e, func() bool {
			mine := b.held() && b.holder == me.Owner
			if mine {
				b.ends = b.now + b.ttl
			}
			return mine
		}, func(history.Kind) { b.leave(me, give, again) })
		return
	}
	b.call(me, give, func(k history.Kind) {
		if k == history.Unknown && b.ttl == 0 && b.holder == me.Owner {
			b.after(50*time.Microsecond, func() { give() })
		}
		again()
	})
}

// sizes are the lengths of histories that the benchmarks take.
func sizes() []int {
	if long() {
		return []int{10_000, 100_000, 1_000_000}
	}
	return []int{10_000, 100_000}
}

// measured reports what is alive of a check's work, with the history subtracted,
// and what it allocates in all, in MiB.
func measured(b *testing.B, work func() any) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := work()
	runtime.ReadMemStats(&after)
	total := after.TotalAlloc - before.TotalAlloc
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	b.ReportMetric(max(0, float64(after.HeapAlloc)-float64(before.HeapAlloc))/(1<<20), "live-MiB")
	b.ReportMetric(float64(total)/(1<<20), "allocated-MiB")
}

// walked is everything that linearizable builds for a history.
type walked struct {
	ix *index
	d  *dossier
	f  *frontier
}

func walkAll(b *testing.B, h *history.History) *walked {
	b.Helper()
	w := &walked{ix: newIndex(h)}
	w.d = newDossier(w.ix)
	holds, c := tenures(w.d.attempts, w.d.uses, w.d.lease)
	w.f = newFrontier(holds, w.d.refusals)
	if end := w.f.walk(forever); c != nil || end.verdict != Holds {
		b.Fatal(c, end)
	}
	return w
}

// BenchmarkLinearizable also gives Porcupine the same histories without leases, for
// at most 2 s each, or 10 s with LOCKPICK_LONG.
func BenchmarkLinearizable(b *testing.B) {
	for _, n := range sizes() {
		for _, clients := range []int{5, 20, 100} {
			for _, unknown := range []float64{0, 0.01, 0.1} {
				for _, ttl := range []time.Duration{0, 20 * time.Millisecond} {
					b.Run(fmt.Sprintf("ops=%d/clients=%d/unknown=%g%%/ttl=%v", n, clients, 100*unknown, ttl), func(b *testing.B) {
						benchLinearizable(b, busyHistory(n, clients, unknown, ttl), n)
					})
				}
			}
		}
	}
}

func benchLinearizable(b *testing.B, h *history.History, n int) {
	b.Helper()
	for b.Loop() {
		if res := linearizability().Judge(h); res.Verdict != Holds {
			b.Fatal(res)
		}
	}
	b.StopTimer()
	ours := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(n)/ours.Seconds(), "ops/s")
	var w *walked
	measured(b, func() any { w = walkAll(b, h); return w })
	b.ReportMetric(float64(w.f.most), "configs")
	if h.Header.Lock.TTL > 0 || n > 10_000 && !long() || n > 100_000 {
		return // an n² of memory; see porcupine.go
	}
	limit := 2 * time.Second
	if long() {
		limit = 10 * time.Second
	}
	ops := w.d.drawn()
	start := time.Now()
	verdict := lockOrder(ops, limit)
	if verdict == Unknown {
		b.ReportMetric(1, "porcupine-gave-up")
	} else if verdict != Holds {
		b.Fatal("Porcupine says ", verdict)
	}
	b.ReportMetric(time.Since(start).Seconds()/ours.Seconds(), "ratio-to-porcupine")
}

// BenchmarkChecks takes every check over histories of sections with everything that
// nodes and the store record.
func BenchmarkChecks(b *testing.B) {
	for _, n := range sizes() {
		h := typicalOf(n/4, 100)
		for _, c := range All() {
			b.Run(fmt.Sprintf("%s/ops=%d", c.Name, n), func(b *testing.B) {
				for b.Loop() {
					if res := c.Judge(h); res.Verdict == Violated {
						b.Fatal(res)
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "ops/s")
				measured(b, func() any {
					ix := newIndex(h)
					c.judge(ix)
					return ix
				})
			})
		}
	}
}
