package scenarios

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"lockpick/faults"
)

// durations lists every duration in v by the way there.
func durations(v reflect.Value, way string, into map[string]time.Duration) {
	switch v.Kind() {
	case reflect.Int64:
		if v.Type() == reflect.TypeFor[time.Duration]() {
			into[way] = time.Duration(v.Int())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			durations(v.Field(i), way+"."+v.Type().Field(i).Name, into)
		}
	case reflect.Slice:
		for i := range v.Len() {
			durations(v.Index(i), fmt.Sprintf("%s[%d]", way, i), into)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			durations(v.MapIndex(key), fmt.Sprintf("%s[%v]", way, key), into)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			durations(v.Elem(), way, into)
		}
	default: // has none
	}
}

func durationsOf(s *Scenario) map[string]time.Duration {
	found := map[string]time.Duration{}
	durations(reflect.ValueOf(*s), "", found)
	return found
}

// Every time of every scenario is scaled, and nothing else changes, in the copy or
// in the scenario itself.
func TestScaled(t *testing.T) {
	all, err := Catalog(Known{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Catalog(Known{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i, s := range all {
		half := s.Scaled(0.5)
		was, is := durationsOf(s), durationsOf(half)
		for way, d := range was {
			want := d / 2
			if d == math.MaxInt64 {
				want = d
			}
			if got, ok := is[way]; !ok || got < want || got-want > 1 {
				t.Errorf("%s: %s is %v of %v", s.Name, way, got, d)
			}
		}
		seen += len(was)
		if !reflect.DeepEqual(s, again[i]) {
			t.Errorf("%s has changed itself", s.Name)
		}
		back := half.Scaled(2)
		if !reflect.DeepEqual(durationsOf(back), was) && !oddTimes(was) {
			t.Errorf("%s is not what it was when it is scaled back", s.Name)
		}
		back.Bounds.Throughput = s.Bounds.Throughput
		if !oddTimes(was) && !reflect.DeepEqual(back, s) {
			t.Errorf("%s has lost something", s.Name)
		}
		if s.Scaled(1) != s {
			t.Errorf("%s at its own scale is another one", s.Name)
		}
	}
	if seen < 10*len(all) {
		t.Errorf("%d durations in %d scenarios", seen, len(all))
	}
}

// oddTimes reports whether one is an odd number of nanoseconds.
func oddTimes(all map[string]time.Duration) bool {
	for _, d := range all {
		if d%2 != 0 && d != math.MaxInt64 {
			return true
		}
	}
	return false
}

func TestScaledThroughput(t *testing.T) {
	s := &Scenario{Bounds: Bounds{Throughput: 2, CommandsPerAcquire: 3}}
	if got := s.Scaled(0.25).Bounds; got != (Bounds{Throughput: 8, CommandsPerAcquire: 3}) {
		t.Errorf("the bounds are %+v", got)
	}
}

func TestScaledSteps(t *testing.T) {
	s := &Scenario{Steps: []faults.Step{
		{Fault: faults.Stop{Node: "redis-1", Lose: faults.Everything}, For: 20 * time.Second, When: faults.Trigger{At: time.Second}},
		{Fault: faults.Clock{Node: "redis-1", Jump: -time.Minute}, When: faults.Trigger{Client: "client-1", Event: faults.Acquired, After: 3 * time.Second}},
	}}
	want := []faults.Step{
		{Fault: faults.Stop{Node: "redis-1", Lose: faults.Everything}, For: time.Second, When: faults.Trigger{At: 50 * time.Millisecond}},
		{Fault: faults.Clock{Node: "redis-1", Jump: -3 * time.Second}, When: faults.Trigger{Client: "client-1", Event: faults.Acquired, After: 150 * time.Millisecond}},
	}
	if got := s.Scaled(0.05).Steps; !reflect.DeepEqual(got, want) {
		t.Errorf("the steps are %v, want %v", got, want)
	}
}

func TestScale(t *testing.T) {
	tests := []struct {
		name string
		s    Scenario
		want float64
	}{
		{"long leases", Scenario{Lock: Lock{TTL: 30 * time.Second}}, 0.05},
		{"short leases", Scenario{Lock: Lock{TTL: 4 * time.Second}}, 0.25},
		{"short leases for who renews", Scenario{Lock: Lock{TTL: 30 * time.Second, RenewingTTL: 2 * time.Second}}, 0.5},
		{"leases that are too short for any scale", Scenario{Lock: Lock{TTL: 100 * time.Millisecond}}, 1},
		{"a short wait", Scenario{Lock: Lock{TTL: 30 * time.Second, Wait: 4 * time.Second}}, 0.5},
		{"short work", Scenario{Lock: Lock{TTL: 30 * time.Second}, Workload: Workload{Work: 200 * time.Millisecond}}, 0.25},
		{"Sentinels", Scenario{Topology: Topology{Redis: Sentinel, DownAfter: 5 * time.Second}, Lock: Lock{TTL: 30 * time.Second}}, 0.1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.Scale(0.05); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
