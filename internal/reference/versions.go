package reference

import (
	"fmt"
	"strings"

	"lockpick/impls"
	"lockpick/internal/harness"
	"lockpick/scenarios"
)

// version is the page of one version.
func (b *book) version(v impls.Version) string {
	p := &page{}
	p.heading(1, v.Name)
	p.text("%s", sentence(plain.Replace(v.Summary)))
	dir := b.packages[v.Name].dir
	p.text("From %s. The code is in [%s](../../%s).", where(v.Where), dir, dir)
	if v.VariantOf != "" {
		p.text("It is a variant of %s: it differs in one rule, and is tried where that shows.", link("", v.VariantOf))
	}
	breaks, withstands, left := b.trials(v)
	if s := shows(breaks, withstands); s != nil {
		p.command(runCommand(s, v))
	}

	p.heading(2, "What it is")
	p.text("%s", b.packages[v.Name].markdown(v.Name))
	if rows := traits(v); len(rows) > 0 {
		p.heading(2, "Traits")
		p.table([]string{"trait", "value", "which means"}, rows)
	}

	p.heading(2, "What breaks it")
	if len(breaks) == 0 {
		p.text("No scenario of the catalogue.")
	} else {
		var rows [][]string
		for _, s := range breaks {
			rows = append(rows, []string{link("../scenarios/", s.Name), plain.Replace(s.Title.EN), anchors("../checks.md", broken(s, v))})
		}
		p.table([]string{"scenario", "", "broken promises"}, rows)
	}
	p.heading(2, "What does not")
	if len(withstands) == 0 {
		p.text("No scenario that it is tried with.")
	} else {
		var rows [][]string
		for _, s := range withstands {
			rows = append(rows, []string{link("../scenarios/", s.Name), plain.Replace(s.Title.EN), anchors("../checks.md", kept(s, v))})
		}
		p.table([]string{"scenario", "", "promises that hold"}, rows)
	}
	if len(left.order) > 0 {
		p.heading(2, "What it is not tried with")
		p.list(left.items("../scenarios/", "scenario"))
	}
	return p.String()
}

// trials sorts the scenarios by what they do to the version.
func (b *book) trials(v impls.Version) (breaks, withstands []*scenarios.Scenario, left *reasons) {
	left = &reasons{}
	for _, s := range b.scenarios {
		switch why := harness.Skip(s, v); {
		case why != "":
			left.add(why, s.Name)
		case len(broken(s, v)) > 0:
			breaks = append(breaks, s)
		case len(kept(s, v)) == 0:
			left.add("does not say what it expects of this version", s.Name)
		default:
			withstands = append(withstands, s)
		}
	}
	return breaks, withstands, left
}

// shows is the scenario whose command a version's page has: the first that breaks
// it, or the first of all.
func shows(breaks, withstands []*scenarios.Scenario) *scenarios.Scenario {
	for _, list := range [][]*scenarios.Scenario{breaks, withstands} {
		if len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

func runCommand(s *scenarios.Scenario, v impls.Version) string {
	return fmt.Sprintf("lockpick run %s --impl %s", s.Name, v.Name)
}

// maxLinks is how many names share a reason until they are only counted.
const maxLinks = 20

// items are the reasons with links to what they are about, which is of a kind
// such as "scenario".
func (r *reasons) items(dir, kind string) []string {
	var items []string
	for _, why := range r.order {
		names := r.names[why]
		what := links(dir, names)
		if len(names) > maxLinks {
			what = count(len(names), kind)
		}
		items = append(items, fmt.Sprintf("%s: %s", plain.Replace(why), what))
	}
	return items
}

// where is what a version was taken from: sections of the two documents, which
// are explained on the first page, or a library.
func where(text string) string {
	text = plain.Replace(text)
	if module, release, ok := strings.Cut(text, " "); ok && strings.HasPrefix(module, "github.com/") {
		return fmt.Sprintf("[%s](https://pkg.go.dev/%s) %s", module, module, release)
	}
	for _, d := range []string{"D1", "D2"} {
		text = strings.ReplaceAll(text, d, fmt.Sprintf("[%s](../README.md#the-two-documents)", d))
	}
	return text
}

// versionIndex is the page that lists the versions.
func (b *book) versionIndex() string {
	p := &page{}
	p.heading(1, "Versions")
	p.text("A version is one way to lock with Redis, or to do without, written as people write it, mistakes included. "+
		"There are %d, in the order in which the documents come to them; `lockpick list versions` lists them too.", len(b.versions))
	locks, strategies := [][]string{}, [][]string{}
	for _, v := range b.versions {
		breaks, withstands, _ := b.trials(v)
		row := []string{link("", v.Name), sentence(plain.Replace(v.Summary)), where(v.Where),
			fmt.Sprintf("%d of %d", len(breaks), len(breaks)+len(withstands))}
		if v.Strategy != nil {
			strategies = append(strategies, row)
		} else {
			locks = append(locks, row)
		}
	}
	head := []string{"version", "", "from", "broken in"}
	p.table(head, locks)
	if len(strategies) > 0 {
		p.heading(2, "Without a lock")
		p.text("These change the resource in a way that needs no lock. They are judged by what becomes of the resource alone.")
		p.table(head, strategies)
	}
	p.text("The last column counts the [scenarios](../scenarios/README.md) in which a promise breaks, of those that the version is tried with.")
	return p.String()
}
