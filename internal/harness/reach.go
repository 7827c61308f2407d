package harness

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/faults"
	"lockpick/impls"
	"lockpick/scenarios"
)

// nodes lists all nodes that the version's topology has, but for the store.
func nodes(sc *scenarios.Scenario, v impls.Version) []string {
	t := topology(sc, v)
	return slices.Concat(t.Nodes, t.Sentinels)
}

// steps returns the scenario's steps as they strike the version's topology: a
// partition splits whom there is. Every other fault needs all that it names.
func steps(sc *scenarios.Scenario, v impls.Version) []faults.Step {
	there := nodes(sc, v)
	list := slices.Clone(sc.Steps)
	for i, s := range list {
		if p, ok := s.Fault.(faults.Partition); ok {
			list[i].Fault = faults.Partition{Side: slices.DeleteFunc(slices.Clone(p.Side), func(u faults.Use) bool {
				return absent(u, there)
			})}
		}
	}
	return list
}

// absent reports whether u names a node that is not there.
func absent(u faults.Use, there []string) bool {
	return u.Kind == faults.Node && u.Name != scenarios.Store && !slices.Contains(there, u.Name)
}

// outOfReach says why a step cannot strike the version, or "".
func outOfReach(sc *scenarios.Scenario, v impls.Version) string {
	there := nodes(sc, v)
	var strangers []string
	for _, s := range steps(sc, v) {
		for _, u := range s.Fault.Uses() {
			if absent(u, there) && !slices.Contains(strangers, u.Name) {
				strangers = append(strangers, u.Name)
			}
		}
		if p, ok := s.Fault.(faults.Partition); ok {
			everybody := len(there) + sc.Workload.Clients + 1 // and the store
			if n := len(p.Side); n == 0 || n == everybody {
				return fmt.Sprintf("a partition leaves nobody on one side, for this version runs on %s alone", strings.Join(there, ", "))
			}
		}
		if what := unheard(s.When, v); what != "" {
			return fmt.Sprintf("a step waits for %s, and this version has no lock", what)
		}
	}
	if len(strangers) > 0 {
		return fmt.Sprintf("a step strikes %s, and this version runs on %s alone",
			strings.Join(strangers, " and "), strings.Join(there, ", "))
	}
	return ""
}

// unheard returns what a trigger waits for that a strategy never does, or "".
func unheard(t faults.Trigger, v impls.Version) string {
	switch {
	case v.Strategy == nil || t.Client == "":
		return ""
	case t.Wire != nil && t.Wire.During != "":
		return fmt.Sprintf("the phase %s of %s", t.Wire.During, t.Client)
	case t.Wire != nil, slices.Contains([]faults.Event{faults.Reading, faults.Writing, faults.Written}, t.Event):
		return ""
	}
	return fmt.Sprintf("%s: %s", t.Client, t.Event)
}
