package redisd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What was written before is there, and what was written after is not.
func TestLosesTheLastPart(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	for round := range 3 {
		kept, lost := fmt.Sprint("kept-", round), fmt.Sprint("lost-", round)
		mustDo(t, s, "+OK\r\n", "SET", kept, "v", "PX", "100000")
		end := do(t, s, "PEXPIRETIME", kept)
		written := time.Now()
		waitFor(t, "some time has passed", func() bool { return time.Since(written) > 200*time.Millisecond })
		cut := time.Now()
		mustDo(t, s, "+OK\r\n", "SET", lost, strings.Repeat("x", 1000))
		mustDo(t, s, ":1\r\n", "DEL", kept)
		must(t, s.Stop(time.Since(cut)))
		must(t, s.Start(t.Context()))
		mustDo(t, s, ":0\r\n", "EXISTS", lost)
		mustDo(t, s, end, "PEXPIRETIME", kept)
		for before := range round {
			mustDo(t, s, ":1\r\n", "EXISTS", fmt.Sprint("kept-", before))
		}
	}
}

// However much is written at the time, what is lost is the end, it is all that is
// younger, and it is not much more.
func TestLosesNoMore(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	const lose = 150 * time.Millisecond
	var times []time.Time // when command i was answered
	for begun := time.Now(); time.Since(begun) < 500*time.Millisecond; times = append(times, time.Now()) {
		mustDo(t, s, fmt.Sprintf(":%d\r\n", len(times)+1), "RPUSH", "list", strings.Repeat("x", 100))
	}
	cut := time.Now().Add(-lose)
	must(t, s.Stop(time.Since(cut)))
	must(t, s.Start(t.Context()))
	var kept int
	if _, err := fmt.Sscanf(do(t, s, "LLEN", "list"), ":%d", &kept); err != nil {
		t.Fatal(err)
	}
	before := 0
	for before < len(times) && times[before].Before(cut) {
		before++
	}
	// the one that was on its way at the time is on either side
	if kept > before+1 {
		t.Errorf("%d commands are kept, of %d that were answered before", kept, before)
	}
	if kept == 0 || kept == len(times) {
		t.Fatalf("%d of %d are kept", kept, len(times))
	}
	more := cut.Sub(times[kept-1])
	t.Logf("%d of %d commands are kept, where %d were answered before; %v too much is lost", kept, len(times), before, more)
	if more > 100*time.Millisecond {
		t.Errorf("%v too much is lost", more)
	}
}

// A lose that reaches back before the start loses everything, and one that ends
// while the server was down nothing of what was written before.
func TestLosesAcrossRestarts(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	begun := time.Now()
	mustDo(t, s, "+OK\r\n", "SET", "k", "v")
	waitFor(t, "its file was looked at", func() bool { return time.Since(begun) > 100*time.Millisecond })
	must(t, s.Stop(0))
	down := time.Now()
	must(t, s.Start(t.Context()))
	mustDo(t, s, "+OK\r\n", "SET", "later", "v")
	must(t, s.Stop(time.Since(down)))
	must(t, s.Start(t.Context()))
	mustDo(t, s, ":1\r\n", "EXISTS", "k", "later")
	mustDo(t, s, ":1\r\n", "EXISTS", "k")
	must(t, s.Stop(time.Since(begun)+time.Second))
	must(t, s.Start(t.Context()))
	mustDo(t, s, ":0\r\n", "DBSIZE")
}

// Wherever its file is cut, even in the middle of a command or of a transaction,
// the server comes up.
func TestCutAnywhere(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Persist: true})
	mustDo(t, s, "+OK\r\n", "SET", "a", "v")
	for _, lua := range []string{"redis.call('SET', 'b', 1) redis.call('SET', 'c', 1)", "redis.call('SET', 'd', 1, 'PX', 10000)"} {
		mustDo(t, s, "$-1\r\n", "EVAL", lua, "0")
	}
	must(t, s.Stop(0))
	whole, err := os.ReadFile(s.data.path())
	must(t, err)
	dice := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		at := dice.IntN(len(whole))
		must(t, os.WriteFile(s.data.path(), whole[:at], 0o600))
		must(t, s.Start(t.Context()))
		if b, c := do(t, s, "EXISTS", "b"), do(t, s, "EXISTS", "c"); b != c {
			t.Errorf("cut at %d, half of a transaction is there", at)
		}
		must(t, s.Stop(0))
	}
}

// Before Redis 7.0 there is one file, which is another one after it was rewritten.
func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		want  string
	}{
		{"no file yet", nil, "appendonly.aof"},
		{"one file", []string{"appendonly.aof"}, "appendonly.aof"},
		{"the newest of several", []string{
			"appendonlydir/appendonly.aof.9.incr.aof", "appendonlydir/appendonly.aof.10.incr.aof",
			"appendonlydir/appendonly.aof.11.base.aof", "appendonlydir/appendonly.aof.manifest",
		}, "appendonlydir/appendonly.aof.10.incr.aof"},
		{"none of several", []string{"appendonlydir/appendonly.aof.1.base.aof"}, "appendonly.aof"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := data{dir: t.TempDir()}
			for _, f := range tt.files {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(d.dir, f)), 0o700))
				must(t, os.WriteFile(filepath.Join(d.dir, f), nil, 0o600))
			}
			if got, want := d.path(), filepath.Join(d.dir, tt.want); got != want {
				t.Errorf("path = %s, want %s", got, want)
			}
		})
	}
}

func TestCutOfAFile(t *testing.T) {
	const second = time.Second
	write := func(t *testing.T, d *data, text string) {
		t.Helper()
		must(t, os.WriteFile(d.path(), []byte(text), 0o600))
		d.look()
	}
	for _, tt := range []struct {
		name string
		lose func(first, second time.Time) time.Time // what is younger is lost
		anew bool                                    // the file was rewritten in between
		want string                                  // "" for no file
	}{
		{"before the first", func(first, _ time.Time) time.Time { return first.Add(-second) }, false, ""},
		{"after the first", func(first, _ time.Time) time.Time { return first }, false, "one"},
		{"after the second", func(_, last time.Time) time.Time { return last }, false, "onetwo"},
		{"before it was rewritten", func(first, _ time.Time) time.Time { return first }, true, ""},
		{"after it was rewritten", func(_, last time.Time) time.Time { return last }, true, "onetwo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &data{dir: filepath.Join(t.TempDir(), "data"), kept: true}
			must(t, os.Mkdir(d.dir, 0o700))
			d.look()
			write(t, d, "one")
			first := time.Now()
			if tt.anew {
				must(t, os.Rename(d.path(), d.path()+".old"))
			}
			write(t, d, "onetwo")
			last := time.Now()
			write(t, d, "onetwothree")
			now := time.Now()
			must(t, d.lose(now.Sub(tt.lose(first, last)), now))
			got, err := os.ReadFile(d.path())
			if string(got) != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("the file is %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}
