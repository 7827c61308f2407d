package reference

import (
	"fmt"
	"slices"
)

// checkList is the page of the checks.
func (b *book) checkList() string {
	p := &page{}
	p.heading(1, "Checks")
	p.text("A check is one promise of a lock, and the way to judge it from the history of a run alone. " +
		"Its verdict is `holds`, `violated` or `unknown`, and unknown is never a pass. The letter is what the matrix shows.")
	for _, c := range b.checks {
		p.heading(2, c.Name)
		p.text("**%s** %s", c.Letter, plain.Replace(sentence(c.Promise)))
		p.text("%s", plain.Replace(sentence(c.How)))
		var rows [][]string
		held := []string{}
		for _, s := range b.scenarios {
			if !slices.Contains(s.Checks, c.Name) {
				continue
			}
			run, _ := b.tried(s)
			n, of := 0, 0
			for _, v := range run {
				if !slices.Contains(judged(s, v), c.Name) {
					continue
				}
				of++
				if slices.Contains(broken(s, v), c.Name) {
					n++
				}
			}
			if n == 0 {
				held = append(held, s.Name)
				continue
			}
			rows = append(rows, []string{link("scenarios/", s.Name), plain.Replace(s.Title.EN), fmt.Sprintf("%d of %d", n, of)})
		}
		if len(rows) > 0 {
			p.table([]string{"violated in", "", "versions"}, rows)
		}
		if len(held) > 0 {
			p.text("Judged, and held by every version: %s.", links("scenarios/", held))
		}
	}
	return p.String()
}

// faultList is the page of the faults.
func (b *book) faultList() string {
	p := &page{}
	p.heading(1, "Faults")
	p.text("A fault is what goes wrong in a scenario, at a time, on something that a client does, or at a command on the wire. " +
		"[The language of scenarios](../scenarios/README.md#steps) has every field and every trigger.")
	for _, f := range b.faults {
		p.heading(2, f.Name)
		p.text("%s", sentence(plain.Replace(f.Summary)))
		p.command(f.Example)
		var used []string
		for _, s := range b.scenarios {
			for _, st := range s.Steps {
				if st.Fault.Name() == f.Name && !slices.Contains(used, s.Name) {
					used = append(used, s.Name)
				}
			}
		}
		if len(used) > 0 {
			p.text("Strikes in %s.", links("scenarios/", used))
		}
	}
	return p.String()
}

// contents is the first page of docs.
func (b *book) contents() string {
	p := &page{}
	p.heading(1, "Documentation")
	p.text("[What lockpick is](../README.md), and the two commands that show it, is on the first page of the repository.")
	p.heading(2, "The reference")
	p.list([]string{
		fmt.Sprintf("[Versions](%s/%s): the %d locks, what each is, what breaks it and what does not", versionsDir, indexPage, len(b.versions)),
		fmt.Sprintf("[Scenarios](%s/%s): the %d pitfalls, what happens in each, and what comes out", scenariosDir, indexPage, len(b.scenarios)),
		fmt.Sprintf("[Checks](%s): the %d promises and how each is judged", checksPage, len(b.checks)),
		fmt.Sprintf("[Faults](%s): the %d things that can go wrong", faultsPage, len(b.faults)),
	})
	p.text("Its pages are written from the code and the scenarios; `go test ./internal/reference -update` writes them again, " +
		"and `lockpick explain NAME` tells the same in a terminal.")
	if len(b.others) > 0 {
		p.heading(2, "More")
		var items []string
		for _, o := range b.others {
			items = append(items, fmt.Sprintf("[%s](%s)", o.title, o.file))
		}
		p.list(items)
	}
	p.heading(2, "For those who add something")
	p.list([]string{
		"[A scenario](../scenarios/README.md): the language of the YAML files",
		"[A version](../impls/README.md): how a lock is added to the catalogue",
		"[A report](../reports/README.md): every file of a run's directory, the JSON, the matrix and the story",
		"[How it hangs together](../ARCHITECTURE.md)",
		"[The commands of its development](../DEVELOPMENT.md)",
	})
	p.heading(2, "The two documents")
	p.text("The catalogue reproduces every pitfall of two articles. Pages name their sections as the articles number them.")
	p.list([]string{
		"**D1**: Redis 分布式锁从SETNX 到 Redlock 的问题记录",
		"**D2**: Redis分布式锁避坑指南：从SETNX到Redlock的演进与实战",
	})
	return p.String()
}
