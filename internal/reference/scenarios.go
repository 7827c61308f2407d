package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockpick/impls"
	"lockpick/scenarios"
)

// scenario is the page of one scenario.
func (b *book) scenario(s *scenarios.Scenario) string {
	run, left := b.tried(s)
	p := &page{}
	p.heading(1, s.Name)
	p.text("**%s**", plain.Replace(s.Title.EN))
	p.text("%s", plain.Replace(s.Lesson.EN))
	p.text("> **%s**\n>\n> %s", plain.Replace(s.Title.ZH), plain.Replace(strings.TrimSpace(s.Lesson.ZH)))
	p.text("From %s. The file is [%s](../../%s).", where(places(s)), s.File, s.File)
	if v, ok := shown(s, run); ok {
		p.command(runCommand(s, v))
	}

	p.heading(2, "What happens")
	p.table([]string{"", ""}, setting(s))
	if len(s.Steps) == 0 {
		p.text("Nothing is broken on purpose.")
	} else {
		for i, st := range s.Steps {
			fmt.Fprintf(p, "%d. %s ([%s](../faults.md#%s))\n", i+1, step(st), st.Fault.Name(), st.Fault.Name())
		}
		p.WriteString("\n")
	}

	p.heading(2, "What comes out")
	p.outcomes(s, run)
	if len(left.order) > 0 {
		p.heading(2, "What is not tried with it")
		p.list(left.items("../versions/", "version"))
	}
	if text := b.remarks[s.Name]; text != "" {
		p.heading(2, "Remarks")
		p.text("%s", plain.Replace(text))
	}
	return p.String()
}

// shown is the version whose command a scenario's page has: the first that it
// breaks, or the first of all.
func shown(s *scenarios.Scenario, run []impls.Version) (impls.Version, bool) {
	for _, v := range run {
		if len(broken(s, v)) > 0 {
			return v, true
		}
	}
	if len(run) == 0 {
		return impls.Version{}, false
	}
	return run[0], true
}

// places are where the documents tell of the scenario.
func places(s *scenarios.Scenario) string {
	var list []string
	for _, d := range s.Documents {
		list = append(list, document(d.File)+" "+d.Section)
	}
	return cmp.Or(strings.Join(list, ", "), "beyond the documents")
}

// document is the short name of a document.
func document(file string) string {
	switch {
	case strings.HasPrefix(file, "000_"):
		return "D1"
	case strings.HasPrefix(file, "002_"):
		return "D2"
	default:
		return file
	}
}

// setting are the rows that say what is there before anything goes wrong.
func setting(s *scenarios.Scenario) [][]string {
	l, w := s.Lock, s.Workload
	lock := fmt.Sprintf("%s, a lease of %s", code(l.Key), short(l.TTL))
	if len(l.Also) > 0 {
		lock = fmt.Sprintf("%s, and %s for versions that lock several keys as one; a lease of %s", code(l.Key), codes(l.Also, ", "), short(l.TTL))
	}
	if l.Count > 1 {
		lock = fmt.Sprintf("%d of them, %s to %s, each with a resource of its own, which the clients take in turn; a lease of %s",
			l.Count, code(s.KeyOf(1)), code(s.KeyOf(l.Count)), short(l.TTL))
	}
	if l.RenewingTTL > 0 {
		lock += fmt.Sprintf(" (%s for versions that renew it)", short(l.RenewingTTL))
	}
	if l.Wait > 0 {
		lock += ", and a client tries for " + short(l.Wait)
	} else {
		lock += ", and a client makes one attempt"
	}
	if l.Retries > 0 {
		lock += fmt.Sprintf("; its Redis client sends a command that was not answered again, up to %s", times(l.Retries))
	}
	rows := [][]string{
		{"nodes", nodes(s.Topology)},
		{"lock", lock},
		{"clients", clients(w)},
		{"work", work(w)},
		{"resource", fmt.Sprintf("a %s, %d at first", w.Resource, w.Initial)},
	}
	if w.Fences == scenarios.Ignored {
		rows = append(rows, []string{"fences", "the store does not look at them"})
	}
	for _, trait := range slices.Sorted(maps.Keys(s.Needs)) {
		rows = append(rows, []string{"needs", fmt.Sprintf("a version with %s: %s", code(trait), strings.Join(s.Needs[trait], " or "))})
	}
	if len(s.Variants) > 0 {
		rows = append(rows, []string{"tried too", "the variants " + codes(s.Variants, ", ")})
	}
	if s.Strategies {
		rows = append(rows, []string{"tried too", "what changes the resource without a lock"})
	}
	if limits := bounds(s.Bounds); len(limits) > 0 {
		rows = append(rows, []string{"bounds", strings.Join(limits, "; ")})
	}
	return rows
}

func clients(w scenarios.Workload) string {
	text := fmt.Sprintf("%d, %s each", w.Clients, count(w.Rounds, "round"))
	if w.Stagger > 0 {
		text += fmt.Sprintf(", one every %s", short(w.Stagger))
	}
	if w.Think > 0 {
		text += fmt.Sprintf(", %s between two rounds", short(w.Think))
	}
	if w.Nest > 1 {
		text += fmt.Sprintf("; each acquires the lock %s, one inside the other", times(w.Nest))
		if w.Releases > 0 && w.Releases < w.Nest {
			text += ", and releases it " + times(w.Releases)
		}
	}
	if w.Threads > 1 {
		text += fmt.Sprintf("; threads, %d to a process", w.Threads)
	}
	if len(w.Readers) > 0 {
		text += fmt.Sprintf("; in shared mode, only to read: %s", and(w.Readers))
	}
	return text
}

func work(w scenarios.Workload) string {
	text := short(w.Work)
	for _, client := range slices.Sorted(maps.Keys(w.WorkOf)) {
		text += fmt.Sprintf(" (%s: %s)", client, short(w.WorkOf[client]))
	}
	if w.SlowWork.Every > 0 {
		text += fmt.Sprintf(" (one in %d: %s)", w.SlowWork.Every, short(w.SlowWork.Work))
	}
	text += " between reading the resource and writing it"
	if w.Extend > 0 {
		text += fmt.Sprintf("; meanwhile the lease is prolonged every %s", short(w.Extend))
	}
	if w.Heed {
		text += "; who writes asks its lease first, and stops if that is over"
	}
	return text
}

func bounds(b scenarios.Bounds) []string {
	var list []string
	if b.Availability > 0 {
		list = append(list, "a free lock may keep a client waiting for "+short(b.Availability))
	}
	if b.CommandsPerAcquire > 0 {
		list = append(list, fmt.Sprintf("a grant may cost %g commands on average", b.CommandsPerAcquire))
	}
	if b.RenewalsPerTTL > 0 {
		list = append(list, fmt.Sprintf("a lease may be renewed %g times in its time", b.RenewalsPerTTL))
	}
	if b.Throughput > 0 {
		list = append(list, fmt.Sprintf("the clients must finish %g sections a second together", b.Throughput))
	}
	if b.Connections > 0 {
		list = append(list, fmt.Sprintf("a node may have %d connections open at once", b.Connections))
	}
	if b.Subscriptions > 0 {
		list = append(list, fmt.Sprintf("a node may have %d subscriptions at once", b.Subscriptions))
	}
	if b.Overtakes > 0 {
		list = append(list, fmt.Sprintf("a client may be overtaken %s", times(b.Overtakes)))
	}
	return list
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return fmt.Sprintf("%d times", n)
	}
}

// outcomes writes the table of versions by checks; versions with the same
// verdicts share a row, and those that break come first.
func (p *page) outcomes(s *scenarios.Scenario, run []impls.Version) {
	rows := map[string][]string{} // verdicts to versions
	var order []string
	for _, v := range run {
		var cells []string
		for _, c := range s.Checks {
			verdict, ok := s.Expected(c, v.Name)
			switch {
			case !slices.Contains(judged(s, v), c):
				verdict = "–"
			case s.EitherWay(c, v.Name):
				verdict = "either"
			case !ok:
				verdict = "not stated"
			case verdict == scenarios.Violated:
				verdict = "**violated**"
			}
			cells = append(cells, verdict)
		}
		key := strings.Join(cells, " | ")
		if rows[key] == nil {
			order = append(order, key)
		}
		rows[key] = append(rows[key], v.Name)
	}
	slices.SortStableFunc(order, func(a, b string) int { return strings.Count(b, "**violated**") - strings.Count(a, "**violated**") })
	var table [][]string
	for _, key := range order {
		table = append(table, []string{links("../versions/", rows[key]), key})
	}
	head := []string{"versions"}
	for _, c := range s.Checks {
		head = append(head, anchor("../checks.md", c))
	}
	p.table(head, table)
}

// scenarioIndex is the page that lists the scenarios.
func (b *book) scenarioIndex() string {
	p := &page{}
	p.heading(1, "Scenarios")
	p.text("A scenario is what the clients do and what goes wrong meanwhile, with the outcome that is expected of every version. "+
		"There are %d, in the order of the documents; `lockpick list scenarios` lists them too. "+
		"[The language of scenarios](../../scenarios/README.md) says how to write one.", len(b.scenarios))
	var rows [][]string
	for _, s := range b.scenarios {
		run, _ := b.tried(s)
		n := 0
		for _, v := range run {
			if len(broken(s, v)) > 0 {
				n++
			}
		}
		rows = append(rows, []string{link("", s.Name), plain.Replace(s.Title.EN), plain.Replace(s.Title.ZH), where(places(s)),
			fmt.Sprintf("%d of %d", n, len(run))})
	}
	p.table([]string{"scenario", "", "", "from", "breaks"}, rows)
	p.text("The last column counts the [versions](../versions/README.md) of which a promise breaks, of those that are tried.")
	return p.String()
}
