package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/impls"
	"lockpick/scenarios"
)

// Skip says why the scenario makes no sense with the version, or "". A pair that
// is skipped is not run and never counts as a pass.
func Skip(sc *scenarios.Scenario, v impls.Version) string {
	if v.Strategy != nil && !sc.Strategies {
		return "tries locks, and this version is a strategy of the resource, without a lock"
	}
	traits := TraitValues(v.Traits)
	var names []string
	for name := range sc.Needs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if want := sc.Needs[name]; !slices.Contains(want, traits[name]) {
			return fmt.Sprintf("needs %s: %s; this version's is %s", name, strings.Join(want, " or "), traits[name])
		}
	}
	if v.VariantOf != "" && !slices.Contains(sc.Variants, v.Name) {
		return "is a variant of " + v.VariantOf + " and not among the scenario's variants"
	}
	return cmp.Or(unable(sc, v), outOfReach(sc, v))
}

// unable says what of the scenario the version cannot do, or have, or "".
func unable(sc *scenarios.Scenario, v impls.Version) string {
	switch {
	case v.Traits.Replicas && sc.Topology.Redis != scenarios.Sentinel:
		return "this version asks the primary for its replicas, and a single Redis has none"
	case len(sc.Workload.Readers) > 0 && !v.Traits.Shared:
		return fmt.Sprintf("shared mode is for %s, and this version has none", strings.Join(sc.Workload.Readers, " and "))
	case slices.Equal(sc.Needs["multi"], []string{"true"}) && len(sc.Lock.Also) == 0:
		return "needs a lock of several keys, and the scenario's has one"
	}
	return ""
}

// Known is what a scenario may name: these versions, every check and every trait.
func Known(versions []impls.Version) scenarios.Known {
	k := scenarios.Known{Traits: Traits()}
	for _, v := range versions {
		k.Versions = append(k.Versions, v.Name)
		if v.VariantOf != "" {
			k.Variants = append(k.Variants, v.Name)
		}
		if v.Strategy != nil {
			k.Strategies = append(k.Strategies, v.Name)
		}
	}
	for _, c := range checker.All() {
		k.Checks = append(k.Checks, c.Name)
	}
	return k
}

// TraitValues returns a version's traits as a scenario names them. A strategy has
// none of those of a lock, and nothing to release.
func TraitValues(t impls.Traits) map[string]string {
	return map[string]string{
		"ttl": word(t.TTL), "token": word(t.Token), "release": word(t.Release),
		"renew": word(t.Renew), "wait": word(t.Wait),
		"quorum": fmt.Sprint(t.Quorum), "fencing": fmt.Sprint(t.Fencing), "reentrant": fmt.Sprint(t.Reentrant),
		"shared": fmt.Sprint(t.Shared), "fair": fmt.Sprint(t.Fair), "extend": fmt.Sprint(t.Extend),
		"multi": fmt.Sprint(t.Multi), "replicas": fmt.Sprint(t.Replicas), "replicated": fmt.Sprint(t.Replicated),
		"strategy": fmt.Sprint(t.Release == ""),
	}
}

// none is the value of a trait that the version has nothing of.
const none = "none"

func word[W ~string](w W) string { return cmp.Or(string(w), none) }

// Traits lists every trait with the values that it can have.
func Traits() map[string][]string {
	flag := []string{"false", "true"}
	return map[string][]string{
		"ttl":     {string(impls.TTLNone), string(impls.TTLSeparate), string(impls.TTLAtomic)},
		"token":   {string(impls.TokenNone), string(impls.TokenFixed), string(impls.TokenClient), string(impls.TokenUnique)},
		"release": {none, string(impls.ReleaseBlind), string(impls.ReleaseCheckThenDelete), string(impls.ReleaseAtomic)},
		"renew":   {string(impls.RenewNone), string(impls.RenewBlind), string(impls.RenewOwned)},
		"wait":    {string(impls.WaitNone), string(impls.WaitPoll), string(impls.WaitNotify)},
		"quorum":  flag, "fencing": flag, "reentrant": flag, "shared": flag, "fair": flag, "extend": flag,
		"multi": flag, "replicas": flag, "replicated": flag, "strategy": flag,
	}
}
