package throwingrelease

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/impls"
	"lockpick/impls/internal/testenv"
)

const refusal = `attempt to unlock "` + testenv.Key + `", not locked by a`

// release returns what Release panics with, or what it says.
func release(t *testing.T, l impls.Lock, lease impls.Lease) (thrown any, said error) {
	t.Helper()
	defer func() { thrown = recover() }()
	return nil, l.Release(t.Context(), lease)
}

// D2 4.3: A is overdue, and its release finds nothing, or B's lock, which it leaves
// alone.
func TestOverdueRelease(t *testing.T) {
	for _, tt := range []struct {
		version impls.Version
		throws  bool
	}{
		{Version, true},
		{RawError, false},
	} {
		for _, rival := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/a rival has it: %t", tt.version.Name, rival), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := testenv.MustOpen(t, 1)
					a := testenv.MustLock(t, tt.version, w.Env("a"), 0)
					lease := testenv.MustAcquire(t, a)
					time.Sleep(testenv.TTL + time.Second)
					want := ""
					if rival {
						want = testenv.MustAcquire(t, testenv.MustLock(t, tt.version, w.Env("b"), 0)).Owner
					}
					thrown, said := release(t, a, lease)
					if tt.throws {
						if said != nil {
							t.Errorf("Release = %v, want a panic", said)
						}
						said, _ = thrown.(error)
					} else if thrown != nil {
						t.Fatalf("Release panicked: %v", thrown)
					}
					if said == nil || !strings.Contains(said.Error(), refusal) || errors.Is(said, impls.ErrNotHeld) {
						t.Errorf("Release says %v, want %s, and nothing of the contract's", said, refusal)
					}
					if got := w.Value(); got != want {
						t.Errorf("the server stores %q, want %q", got, want)
					}
				})
			})
		}
	}
}

// Nothing is thrown when there is something to release, nor when nobody knows.
func TestOtherReleases(t *testing.T) {
	for _, v := range []impls.Version{Version, RawError} {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testenv.MustOpen(t, 1)
				env := w.Env("a")
				a := testenv.MustLock(t, v, env, 0)
				testenv.MustRelease(t, a, testenv.MustAcquire(t, a))
				lease := testenv.MustAcquire(t, a)
				env.Cut()
				if thrown, said := release(t, a, lease); thrown != nil || !errors.Is(said, testenv.ErrCut) {
					t.Errorf("without an answer, Release = %v and panics with %v, want the connection's error", said, thrown)
				}
			})
		})
	}
}
