package sim_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/faults"
	"lockpick/internal/testbed"
	"lockpick/internal/testbed/sim/bubble"
)

// answersTest is something that client-1 does, and what is then counted of it.
type answersTest struct {
	name string
	do   func(w testbed.World)
	want testbed.Answers
}

func (tt answersTest) try(t *testing.T) {
	lab{t: t}.run(func(w testbed.World) {
		tt.do(w)
		if got := w.Client("client-1").Answers(); got != tt.want {
			t.Errorf("Answers = %+v, want %+v", got, tt.want)
		}
		time.Sleep(time.Minute) // who still waits gives up
	})
}

// What a client asked is counted, and is answered.
func TestAnswers(t *testing.T) {
	bubble.Use(t)
	for _, tt := range []answersTest{
		{"nothing was asked", func(testbed.World) {}, testbed.Answers{}},
		{"all is answered", func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Set(outside, "k", "1", 0)
			r.Get(outside, "k")
		}, testbed.Answers{Sent: 2}},
		{"another client's do not count", func(w testbed.World) {
			raw(t, w, "client-1").Get(outside, "k")
			raw(t, w, "client-2").Get(outside, "k")
		}, testbed.Answers{Sent: 1}},
		{"an error is an answer", func(w testbed.World) {
			raw(t, w, "client-1").EvalSha(outside, "0000000000000000000000000000000000000000", []string{"k"})
		}, testbed.Answers{Sent: 1}},
		{"nobody answers a subscription", func(w testbed.World) {
			s := raw(t, w, "client-1").(*redis.Client).Subscribe(outside, "c")
			defer s.Close()
			if _, err := s.Receive(outside); err != nil {
				t.Error(err)
			}
		}, testbed.Answers{}},
	} {
		t.Run(tt.name, tt.try)
	}
}

// So is what has no answer yet, or never will have one.
func TestAnswersThatDoNotCome(t *testing.T) {
	bubble.Use(t)
	cut := faults.Cut{Link: toRedis, Direction: faults.ToClient}
	for _, tt := range []answersTest{
		{"the answer is on its way", func(w testbed.World) {
			go raw(t, w, "client-1").Get(outside, "k")
			w.Client("client-1").Sleep(350 * time.Microsecond) // the connection takes two latencies of at least 100 µs
		}, testbed.Answers{Waiting: 1}},
		{"the answer is lost, and the client still waits", func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Get(outside, "k")
			inject(t, w, cut)
			go r.Get(outside, "k")
			w.Client("client-1").Sleep(time.Second)
		}, testbed.Answers{Sent: 2, Waiting: 1}},
		{"the client has given up", func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Get(outside, "k")
			inject(t, w, cut)
			r.Get(outside, "k")
		}, testbed.Answers{Sent: 2, Missed: 1}},
		{"the connection is reset", func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Get(outside, "k")
			inject(t, w, cut)
			go r.Get(outside, "k")
			w.Client("client-1").Sleep(time.Second)
			inject(t, w, faults.Reset{Link: toRedis})
			w.Client("client-1").Sleep(time.Second)
		}, testbed.Answers{Sent: 2, Missed: 1}},
		{"the connection is reset as the command leaves", func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Get(outside, "k")
			inject(t, w, faults.Reset{Link: toRedis})
			r.Get(outside, "k")
		}, testbed.Answers{Sent: 2, Missed: 1}},
		{"the answer comes when the client has given up", func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Get(outside, "k")
			heal := inject(t, w, faults.Hold{Link: toRedis, Direction: faults.ToClient})
			r.Get(outside, "k")
			heal()
			w.Client("client-1").Sleep(time.Second)
		}, testbed.Answers{Sent: 2, Missed: 1}},
		{"there is no connection yet", func(w testbed.World) {
			inject(t, w, cut)
			go raw(t, w, "client-1").Get(outside, "k")
			w.Client("client-1").Sleep(time.Second)
		}, testbed.Answers{Waiting: 1}},
		{"there will be no connection", func(w testbed.World) {
			inject(t, w, cut)
			raw(t, w, "client-1").Get(outside, "k")
		}, testbed.Answers{Missed: 1}},
		{"the node is down", func(w testbed.World) {
			inject(t, w, faults.Stop{Node: "redis-1"})
			raw(t, w, "client-1").Get(outside, "k")
		}, testbed.Answers{Missed: 1}},
		{"the node goes down", func(w testbed.World) {
			r := raw(t, w, "client-1")
			r.Get(outside, "k")
			inject(t, w, faults.Pause{Node: "redis-1"})
			go r.Get(outside, "k")
			w.Client("client-1").Sleep(time.Second)
			inject(t, w, faults.Stop{Node: "redis-1"})
			w.Client("client-1").Sleep(time.Second)
		}, testbed.Answers{Sent: 2, Missed: 1}},
	} {
		t.Run(tt.name, tt.try)
	}
}

// The threads of a process are counted together: one may ask for another.
func TestAnswersOfAProcess(t *testing.T) {
	bubble.Use(t)
	lab{t: t, processes: twoThreads}.run(func(w testbed.World) {
		for _, name := range []string{"client-1", "client-2", "client-3"} {
			raw(t, w, name).Get(outside, "k")
		}
		for name, want := range map[string]int{"client-1": 2, "client-2": 2, "client-3": 1} {
			if got := w.Client(name).Answers(); got != (testbed.Answers{Sent: want}) {
				t.Errorf("Answers of %s = %+v, want %d sent", name, got, want)
			}
		}
	})
}
