package redisd

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ahead asks a server for the time, and returns within which bounds it is ahead of
// this machine's.
func ahead(t *testing.T, s *Server) (least, most time.Duration) {
	t.Helper()
	before := time.Now()
	reply := do(t, s, "TIME")
	after := time.Now()
	var seconds, micros, n, m int64
	if _, err := fmt.Sscanf(reply, "*2\r\n$%d\r\n%d\r\n$%d\r\n%d\r\n", &n, &seconds, &m, &micros); err != nil {
		t.Fatalf("TIME = %q: %v", reply, err)
	}
	shown := time.Unix(seconds, micros*1000)
	return shown.Sub(after), shown.Add(time.Microsecond).Sub(before)
}

// mustBeAhead fails unless the server's clock is that far ahead, give or take how
// exactly it is set.
func mustBeAhead(t *testing.T, s *Server, want, exactly time.Duration) {
	t.Helper()
	if least, most := ahead(t, s); want < least-exactly || want > most+exactly {
		t.Errorf("its clock is ahead by %v to %v, want %v", least, most, want)
	}
}

// The clock is exact from the start, where libfaketime by itself is not always.
func TestClockIsExact(t *testing.T) {
	needFaketime(t)
	h := mustHome(t)
	for range 20 {
		s := mustStart(t, h, Config{Name: "redis-1", Clock: true})
		mustBeAhead(t, s, 0, 2*time.Microsecond)
		mustBeAhead(t, s, 0, 2*time.Microsecond)
		must(t, s.Close())
	}
}

func TestJump(t *testing.T) {
	needFaketime(t)
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Clock: true})
	mustBeAhead(t, s, 0, time.Microsecond)
	var want time.Duration
	for _, by := range []time.Duration{
		time.Minute, 1500 * time.Millisecond, -1500 * time.Millisecond, -2 * time.Minute, 123456 * time.Microsecond,
		-time.Millisecond, time.Microsecond, 10 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour,
	} {
		must(t, s.Jump(by))
		want += by
		mustBeAhead(t, s, want, 2*time.Microsecond)
		if got := s.Offset(); got != want {
			t.Errorf("Offset = %v, want %v", got, want)
		}
	}
}

// The ends of keys are times of the server's clock.
func TestKeysAndTheClock(t *testing.T) {
	needFaketime(t)
	for _, tt := range []struct {
		name  string
		by    time.Duration
		alive string
	}{
		{"before the end", 20 * time.Second, ":1\r\n"},
		{"after it", 31 * time.Second, ":0\r\n"},
		{"back", -time.Hour, ":1\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustStart(t, mustHome(t), Config{Name: "redis-1", Clock: true, Persist: true})
			mustDo(t, s, "+OK\r\n", "SET", "k", "v", "PX", "30000")
			end := do(t, s, "PEXPIRETIME", "k")
			must(t, s.Jump(tt.by))
			mustDo(t, s, tt.alive, "EXISTS", "k") // the very next command
			if tt.alive == ":1\r\n" {
				mustDo(t, s, end, "PEXPIRETIME", "k")
			}
			must(t, s.Stop(0))
			must(t, s.Start(t.Context()))
			mustBeAhead(t, s, tt.by, 2*time.Microsecond)
			mustDo(t, s, tt.alive, "EXISTS", "k")
		})
	}
}

// A clock goes on while its server is down, and can be moved then.
func TestJumpWhileDown(t *testing.T) {
	needFaketime(t)
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Clock: true, Persist: true})
	mustDo(t, s, "+OK\r\n", "SET", "k", "v", "PX", "30000")
	must(t, s.Stop(0))
	must(t, s.Jump(time.Minute))
	must(t, s.Start(t.Context()))
	mustDo(t, s, ":0\r\n", "EXISTS", "k")
}

func TestDrift(t *testing.T) {
	needFaketime(t)
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Clock: true})
	must(t, s.Jump(time.Minute))
	for _, rate := range []float64{2, 0.5, 100, 0, 1.1, 1} {
		from := s.Offset()
		must(t, s.Drift(rate))
		begun := time.Now()
		waitFor(t, "some time has passed", func() bool { return time.Since(begun) > 100*time.Millisecond })
		// the time that the server shows lies between what its clock is before and
		// after, but for what it is behind: a step, and what this machine puts it off
		least := s.Offset()
		low, high := ahead(t, s)
		most := s.Offset()
		off := time.Duration(math.Abs(rate-1) * float64(50*time.Millisecond))
		if rate == 0 {
			off = time.Millisecond
		}
		if low > max(least, most)+off || high < min(least, most)-off {
			t.Errorf("at rate %g its clock is ahead by %v to %v, want %v to %v give or take %v", rate, low, high, least, most, off)
		}
		if gained, want := least-from, (rate-1)*0.1; (gained.Seconds()-want)*(rate-1) < 0 {
			t.Errorf("at rate %g it has gained %v within %v", rate, gained, time.Since(begun))
		}
	}
}

// A clock that stands still shows the same time whenever it is asked, also after
// it was moved.
func TestClockStandsStill(t *testing.T) {
	needFaketime(t)
	s := mustStart(t, mustHome(t), Config{Name: "redis-1", Clock: true})
	must(t, s.Drift(0))
	first := do(t, s, "TIME")
	before := s.Offset()
	waitFor(t, "some time has passed", func() bool { return before-s.Offset() > 30*time.Millisecond })
	mustDo(t, s, first, "TIME")
	must(t, s.Jump(time.Hour))
	second := do(t, s, "TIME")
	if second == first {
		t.Error("it was not moved")
	}
	mustDo(t, s, "+OK\r\n", "SET", "k", "v", "PX", "1")
	must(t, s.Stop(0))
	must(t, s.Start(t.Context()))
	mustDo(t, s, second, "TIME")
	must(t, s.Drift(1))
	waitFor(t, "it runs again", func() bool { return do(t, s, "TIME") != second })
}

func TestClockRefuses(t *testing.T) {
	c, err := newClock(filepath.Join(t.TempDir(), "clock"))
	must(t, err)
	for _, rate := range []float64{-1, 101, math.NaN(), math.Inf(1)} {
		if err := c.drift(rate); err == nil {
			t.Errorf("a rate of %g is taken", rate)
		}
	}
	for _, by := range []time.Duration{farthest + 1, -farthest - 1, math.MaxInt64, math.MinInt64} {
		if err := c.jump(by); err == nil {
			t.Errorf("a jump of %v is taken", by)
		}
	}
	must(t, c.jump(farthest))
	if err := c.jump(1); err == nil {
		t.Error("a jump beyond the end is taken")
	}
	must(t, c.close())
}

// What goes wrong when a clock moves by itself is told the next time.
func TestClockCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	must(t, os.Mkdir(dir, 0o700))
	c, err := newClock(filepath.Join(dir, "clock"))
	must(t, err)
	must(t, c.drift(2))
	must(t, os.RemoveAll(dir))
	waitFor(t, "it has noticed", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err != nil
	})
	if err := c.drift(1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("drift: %v", err)
	}
	if err := c.close(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("close: %v", err)
	}
}

func TestWithoutAClock(t *testing.T) {
	s := mustStart(t, mustHome(t), Config{Name: "redis-1"})
	if err := s.Jump(time.Second); !errors.Is(err, ErrNoClock) {
		t.Errorf("Jump: %v, want %v", err, ErrNoClock)
	}
	if err := s.Drift(2); !errors.Is(err, ErrNoClock) {
		t.Errorf("Drift: %v, want %v", err, ErrNoClock)
	}
	if got := s.Offset(); got != 0 {
		t.Errorf("Offset = %v", got)
	}
}

// A server that runs without libfaketime, though it was to have it, does not start:
// its clock would not move, and nobody would know.
func TestFaketimeIsNotLoaded(t *testing.T) {
	needFaketime(t)
	real := mustProgram(t)
	h, p := mustHome(t), fake(t, "unset LD_PRELOAD; exec "+real.Path+` "$@"`)
	if _, err := Start(t.Context(), p, h, Config{Name: "redis-1", Clock: true}); !errors.Is(err, errNoFaketime) {
		t.Errorf("Start: %v, want %v", err, errNoFaketime)
	}
}
