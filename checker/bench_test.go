package checker

import (
	"fmt"
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
func typical() *history.History {
	s := newScript(1, "client-1", "client-2")
	s.h.Header.Lock.TTL = 30 * time.Second
	s.h.Header.Workload = history.Workload{Resource: "stock", Initial: 200, Clients: []string{"client-1", "client-2"}}
	stock := int64(200)
	for i := range 7 {
		who, owner := fmt.Sprint("client-", i%2+1), fmt.Sprint("owner-", i)
		me := history.Record{Who: who, Round: i/2 + 1, Key: "k"}
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

func TestTypicalHolds(t *testing.T) {
	h := typical()
	for _, c := range All() {
		if res := c.Judge(h); res.Verdict != Holds {
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
