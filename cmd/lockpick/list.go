package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockpick/checker"
	"lockpick/faults"
	"lockpick/impls/catalog"
	"lockpick/reports"
	"lockpick/scenarios"
)

// item is one line of a list.
type item struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"` // "strategy" of a version without a lock
	Where string `json:"where,omitempty"`
	Text  string `json:"text"`
}

// lists are what can be listed, and how.
var lists = []string{"versions", "scenarios", "checks", "faults"}

func (a *app) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:       "list versions|scenarios|checks|faults",
		Short:     "List what there is",
		ValidArgs: lists,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("list needs one of versions, scenarios, checks, faults")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkFlags(); err != nil {
				return err
			}
			items, err := a.items(args[0])
			if err != nil {
				return err
			}
			if a.format == "json" {
				return reports.Indented(a.out, items)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			for _, i := range items {
				if i.Where != "" {
					i.Where += "\t"
				}
				fmt.Fprintf(w, "%s\t%s%s\n", i.Name, i.Where, i.Text)
			}
			return w.Flush()
		},
	}
	a.formatFlag(cmd)
	return cmd
}

func (a *app) items(what string) ([]item, error) {
	var items []item
	switch what {
	case "versions":
		for _, v := range catalog.All() {
			i := item{Name: v.Name, Where: v.Where, Text: v.Summary}
			if v.Strategy != nil {
				i.Kind = "strategy"
			}
			items = append(items, i)
		}
	case "scenarios":
		all, err := scenarios.Catalog(known())
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			items = append(items, item{Name: s.Name, Where: places(s), Text: a.say(s.Title)})
		}
	case "checks":
		for _, c := range checker.All() {
			items = append(items, item{Name: c.Name, Where: c.Letter, Text: c.Promise})
		}
	case "faults":
		for _, f := range faults.Catalog() {
			items = append(items, item{Name: f.Name, Text: f.Summary})
		}
	default:
		return nil, unknown("list of", what, lists, "lockpick list --help")
	}
	return items, nil
}

// say picks a text's language.
func (a *app) say(t scenarios.Text) string {
	if a.lang == "zh" {
		return t.ZH
	}
	return t.EN
}
