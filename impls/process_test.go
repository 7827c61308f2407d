package impls

import "testing"

func TestSharedIsMadeOnceAProcess(t *testing.T) {
	var a, b Process
	made := 0
	get := func(p *Process, name string) *int {
		return Shared(p, name, func() *int {
			made++
			return new(int)
		})
	}
	first := get(&a, "leases")
	if again := get(&a, "leases"); again != first || made != 1 {
		t.Errorf("the second call made another: %d were made", made)
	}
	if get(&a, "channel") == first {
		t.Error("two names share one value")
	}
	if get(&b, "leases") == first {
		t.Error("two processes share one value")
	}
}
