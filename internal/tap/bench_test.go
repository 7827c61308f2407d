package tap

import (
	"testing"
	"time"

	"lockpick/checker/history"
	"lockpick/internal/keyspace"
)

// BenchmarkLines is what it takes to print, read and apply one line of a lock.
func BenchmarkLines(b *testing.B) {
	const script = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
	for name, round := range map[string][][]string{
		"commands": {{"a", "SET", "lock:order:12", "0123456789abcdef", "NX", "PX", "30000"}, {"b", "SET", "lock:order:12", "fedcba9876543210", "NX", "PX", "30000"}, {"a", "DEL", "lock:order:12"}},
		"scripts": {{"a", "SET", "lock:order:12", "0123456789abcdef", "NX", "PX", "30000"}, {"a", "EVAL", script, "1", "lock:order:12", "0123456789abcdef"},
			{Lua, "GET", "lock:order:12"}, {Lua, "DEL", "lock:order:12"}},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := NewShadow(keyspace.NewLabels(), func(time.Time, history.Record) {})
			if err != nil {
				b.Fatal(err)
			}
			at, n := epoch, 0
			texts := make([]string, len(round))
			for b.Loop() {
				at = at.Add(50 * time.Microsecond)
				for i, words := range round {
					texts[i] = printed(Line{At: at, From: words[0], Args: words[1:]})
				}
				for _, text := range texts {
					l, err := Parse(text)
					if err != nil {
						b.Fatal(err)
					}
					s.Apply(l, l.From)
					n++
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
