package reference

import (
	"slices"

	"lockpick/impls"
	"lockpick/internal/harness"
)

// traitOrder is the order in which a version's page shows its traits: as a
// section goes, and then what only some can do.
var traitOrder = []string{
	"strategy", "ttl", "token", "wait", "renew", "release",
	"extend", "fencing", "reentrant", "shared", "fair", "multi", "quorum", "replicated", "replicas",
}

// meanings explains every value of every trait. What a version cannot do is not
// shown, so false has no meaning.
var meanings = map[string]map[string]string{
	"strategy": {"true": "it is no lock: the resource itself is changed in a way that needs none"},
	"ttl": {
		string(impls.TTLNone):     "a grant never expires",
		string(impls.TTLSeparate): "a second command gives a grant its time to live",
		string(impls.TTLAtomic):   "the command that grants sets the time to live",
	},
	"token": {
		string(impls.TokenNone):   "a grant stores a constant that means nothing",
		string(impls.TokenFixed):  "a grant stores a constant, which is compared as if it were unique",
		string(impls.TokenClient): "all grants of a handle store one value",
		string(impls.TokenUnique): "every attempt stores a value of its own",
	},
	"wait": {
		string(impls.WaitNone):   "one attempt",
		string(impls.WaitPoll):   "who is refused tries again after a pause",
		string(impls.WaitNotify): "who is refused is woken by the release",
	},
	"renew": {
		string(impls.RenewNone):  "nothing prolongs a grant in the background",
		string(impls.RenewBlind): "the client compares, and then prolongs whatever is there",
		string(impls.RenewOwned): "the server compares and prolongs in one step",
	},
	"release": {
		"none":                               "there is nothing to release",
		string(impls.ReleaseBlind):           "deletes whatever is there",
		string(impls.ReleaseCheckThenDelete): "the client compares, and then deletes whatever is there",
		string(impls.ReleaseAtomic):          "the server compares and deletes in one step",
	},
	"extend":     {"true": "a lease can be prolonged on request"},
	"fencing":    {"true": "a lease has a number that grows from grant to grant, for the store to check"},
	"reentrant":  {"true": "the owner may acquire again what it holds"},
	"shared":     {"true": "it has a mode that several may hold at once"},
	"fair":       {"true": "it is granted in the order of arrival"},
	"multi":      {"true": "it locks several keys as one"},
	"quorum":     {"true": "it asks several nodes and needs a majority"},
	"replicated": {"true": "the nodes that it asks are replicas of one another"},
	"replicas":   {"true": "it asks the primary whether its replicas have the grant, so it needs some"},
}

// traits are the rows of a version's table: trait, value, meaning. Of what
// concerns a lock a strategy has nothing, which goes without saying.
func traits(v impls.Version) [][]string {
	values := harness.TraitValues(v.Traits)
	var names []string
	for name, value := range values {
		if v.Strategy == nil || value != "none" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Index(traitOrder, a) - slices.Index(traitOrder, b) })
	var rows [][]string
	for _, name := range names {
		if value := values[name]; value != "" && value != "false" {
			rows = append(rows, []string{name, value, meanings[name][value]})
		}
	}
	return rows
}
