package harness

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/faults"
	"lockpick/impls"
	"lockpick/scenarios"
)

// Skip says why the scenario makes no sense with the version, or "". A pair that
// is skipped is not run and never counts as a pass.
func Skip(sc *scenarios.Scenario, v impls.Version) string {
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
	if names := strangers(sc, v); len(names) > 0 {
		return fmt.Sprintf("a step strikes %s, and this version runs on %s alone",
			strings.Join(names, " and "), strings.Join(topology(sc, v).Nodes, ", "))
	}
	return ""
}

// strangers returns the lock nodes that the steps name and that the version's
// topology does not have.
func strangers(sc *scenarios.Scenario, v impls.Version) []string {
	var names []string
	nodes := topology(sc, v).Nodes
	for _, s := range sc.Steps {
		for _, u := range s.Fault.Uses() {
			if u.Kind == faults.Node && u.Name != scenarios.Store && !slices.Contains(nodes, u.Name) && !slices.Contains(names, u.Name) {
				names = append(names, u.Name)
			}
		}
	}
	return names
}

// TraitValues returns a version's traits as a scenario names them.
func TraitValues(t impls.Traits) map[string]string {
	return map[string]string{
		"ttl": string(t.TTL), "token": string(t.Token), "release": string(t.Release),
		"renew": string(t.Renew), "wait": string(t.Wait),
		"quorum": fmt.Sprint(t.Quorum), "fencing": fmt.Sprint(t.Fencing), "reentrant": fmt.Sprint(t.Reentrant),
		"shared": fmt.Sprint(t.Shared), "fair": fmt.Sprint(t.Fair), "extend": fmt.Sprint(t.Extend),
	}
}

// Traits lists every trait with the values that it can have.
func Traits() map[string][]string {
	flag := []string{"false", "true"}
	return map[string][]string{
		"ttl":     {string(impls.TTLNone), string(impls.TTLSeparate), string(impls.TTLAtomic)},
		"token":   {string(impls.TokenNone), string(impls.TokenFixed), string(impls.TokenUnique)},
		"release": {string(impls.ReleaseBlind), string(impls.ReleaseCheckThenDelete), string(impls.ReleaseAtomic)},
		"renew":   {string(impls.RenewNone), string(impls.RenewBlind), string(impls.RenewOwned)},
		"wait":    {string(impls.WaitNone), string(impls.WaitPoll), string(impls.WaitNotify)},
		"quorum":  flag, "fencing": flag, "reentrant": flag, "shared": flag, "fair": flag, "extend": flag,
	}
}
