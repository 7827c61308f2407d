package reference

import (
	"slices"
	"testing"
	"time"

	"lockpick/faults"
	"lockpick/scenarios"
)

func TestStepsAreSentences(t *testing.T) {
	link := faults.Link{Client: "client-1", Node: "redis-1"}
	got := faults.Trigger{Client: "client-1", Event: faults.Acquired}
	wire := func(nth int, w faults.Wire) faults.Trigger {
		return faults.Trigger{Client: "client-1", Nth: nth, Wire: &w}
	}
	at := faults.Trigger{At: 5 * time.Second}
	const until = ", until the clients have stopped."
	tests := []struct {
		step faults.Step
		want string
	}{
		{faults.Step{Fault: faults.Pause{Client: "client-1"}, When: got, For: 40 * time.Second}, "When client-1 has got the lock, client-1 stands still, for 40s."},
		{faults.Step{Fault: faults.Pause{Node: "redis-1"}, When: at}, "5s after the start, redis-1 stands still" + until},
		{faults.Step{Fault: faults.Crash{Client: "client-1"}, When: faults.Trigger{Client: "client-1", Event: faults.Releasing, Nth: 2, After: time.Minute}},
			"1m after client-1 is about to release the lock for the second time, client-1 dies."},
		{faults.Step{Fault: faults.Cancel{Client: "client-1"}}, "At the start, client-1's caller hangs up: the context of its critical section ends."},
		{faults.Step{Fault: faults.Cut{Link: link, Direction: faults.ToNode}, For: time.Second}, "At the start, the way from client-1 to redis-1 is cut, for 1s."},
		{faults.Step{Fault: faults.Cut{Link: faults.Link{Peer: "redis-2", Node: "redis-1"}, Direction: faults.Both}}, "At the start, the link between redis-2 and redis-1 is cut" + until},
		{faults.Step{Fault: faults.Partition{Side: []faults.Use{{Name: "client-1"}, {Name: "redis-1"}}}}, "At the start, client-1 and redis-1 are cut off from all others" + until},
		{faults.Step{Fault: faults.Partition{Side: []faults.Use{{Name: "redis-1"}}}}, "At the start, redis-1 is cut off from all others" + until},
		{faults.Step{Fault: faults.Hold{Link: link, Direction: faults.ToClient}}, "At the start, what is sent on the way from redis-1 to client-1 is held back" + until},
		{faults.Step{Fault: faults.Slow{Link: link, Direction: faults.Both, By: time.Second}}, "At the start, the link between client-1 and redis-1 gets slower by 1s" + until},
		{faults.Step{Fault: faults.Reset{Link: link}}, "At the start, the connections between client-1 and redis-1 are reset."},
		{faults.Step{Fault: faults.Drop{What: faults.Reply}, When: wire(0, faults.Wire{Command: 2, During: faults.InAcquire, Point: faults.Applied})},
			"When the second command of client-1's acquire has been executed and is not answered yet, that reply is lost."},
		{faults.Step{Fault: faults.Drop{What: faults.Request}, When: wire(3, faults.Wire{Names: []string{"DEL", "EVAL"}, During: faults.InHold, Point: faults.BeforeSend})},
			"When the third `DEL` or `EVAL` of client-1, while it holds the lock, is about to be sent, that request is lost."},
		{faults.Step{Fault: faults.Clock{Node: "redis-1", Jump: time.Minute}}, "At the start, the wall clock of redis-1 jumps by +1m."},
		{faults.Step{Fault: faults.Clock{Client: "client-1", Jump: -time.Minute}}, "At the start, the wall clock of client-1 jumps by -1m."},
		{faults.Step{Fault: faults.Drift{Node: "redis-1", Rate: 1.5}}, "At the start, the clock of redis-1 runs at 1.5 times its speed" + until},
		{faults.Step{Fault: faults.Evict{Node: "redis-1", Key: "k"}}, "At the start, redis-1 loses the key `k`."},
		{faults.Step{Fault: faults.ForgetScripts{Node: "redis-1"}}, "At the start, redis-1 forgets its scripts."},
		{faults.Step{Fault: faults.Refuse{Node: "redis-1", With: faults.Busy, Commands: []string{"EVALSHA", "SET"}}}, "At the start, redis-1 answers `EVALSHA` and `SET` with the error `BUSY`" + until},
		{faults.Step{Fault: faults.Refuse{Node: "redis-1", With: faults.OOM}}, "At the start, redis-1 answers every command with the error `OOM`" + until},
		{faults.Step{Fault: faults.Stop{Node: "redis-1"}, For: time.Minute}, "At the start, redis-1 is down and keeps its data, for 1m."},
		{faults.Step{Fault: faults.Stop{Node: "redis-1", Lose: faults.Everything}}, "At the start, redis-1 is down and loses its data" + until},
		{faults.Step{Fault: faults.Stop{Node: "redis-1", Lose: time.Second}}, "At the start, redis-1 is down and loses what was written in the last 1s" + until},
	}
	var told []string
	for _, tt := range tests {
		told = append(told, tt.step.Fault.Name())
		if got := step(tt.step); got != tt.want {
			t.Errorf("%v is told as\n%s\nnot as\n%s", tt.step, got, tt.want)
		}
	}
	for _, f := range faults.Catalog() {
		if !slices.Contains(told, f.Name) {
			t.Errorf("%s is told by nobody", f.Name)
		}
	}
}

func TestNodes(t *testing.T) {
	tests := []struct {
		topology scenarios.Topology
		want     string
	}{
		{scenarios.Topology{Redis: scenarios.Single, Quorum: 5}, "one Redis; versions that ask a majority get 5 nodes of their own instead"},
		{scenarios.Topology{Redis: scenarios.Sentinel, Quorum: 3, Replicas: 1, DownAfter: 5 * time.Second, MinReplicas: 1, MaxLag: 10 * time.Second},
			"a primary with 1 replica, watched by 3 Sentinels to which a node is down after 5s; " +
				"it takes no write unless 1 replica answered in the last 10s; versions that ask a majority get 3 nodes of their own instead"},
	}
	for _, tt := range tests {
		if got := nodes(tt.topology); got != tt.want {
			t.Errorf("%+v is\n%s\nnot\n%s", tt.topology, got, tt.want)
		}
	}
}
