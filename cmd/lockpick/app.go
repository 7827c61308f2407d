package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockpick/checker"
	"lockpick/impls"
	"lockpick/impls/catalog"
	"lockpick/internal/harness"
	"lockpick/internal/nearest"
	"lockpick/internal/testbed/sim"
	"lockpick/reports"
	"lockpick/scenarios"
)

// The exit statuses.
const (
	statusOK        = 0 // everything is as expected
	statusViolated  = 1 // a violation, or a drift from the expectation
	statusUsage     = 2 // the command line or a file that it names makes no sense
	statusUndecided = 3 // nothing is violated, but something could not be judged
	statusFailed    = 4 // the harness or the testbed failed
)

// usageError is a mistake of whoever typed the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// app is one invocation.
type app struct {
	out, err io.Writer
	status   int

	// flags that several commands share
	seed    uint64
	seeds   int
	dir     string
	format  string
	lang    string
	testbed string
	impls   []string
	jobs    int
	guard   time.Duration
	full    bool
}

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{out: stdout, err: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.status
	}
	fmt.Fprintf(stderr, "lockpick: %v\n", err)
	var usage usageError
	var problems scenarios.Errors
	if errors.As(err, &usage) || errors.As(err, &problems) {
		return statusUsage
	}
	return statusFailed
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockpick",
		Short: "Try to break distributed locks, and see which promise broke, when, and why",
		Long: `lockpick runs every way people lock with Redis behind one interface, hurts the
servers, the network and the clients on a script, records what everyone saw, and
says which promise broke, when, and why. Without --testbed it simulates: virtual
time, no server, and the same seed gives the same history, byte for byte.

Exit status: 0 as expected, 1 a violation or a drift from the expectation,
2 usage, 3 undecided, 4 the harness or the testbed failed.`,
		Example: `  lockpick matrix
  lockpick run delete-other --impl setnx-ex
  lockpick explain get-del-window`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usagef("there is no command %q%s; see lockpick --help", args[0], a.hint(args[0], commandNames(cmd)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(a.matrixCommand(), a.runCommand(), a.listCommand(), a.explainCommand(), a.replayCommand(), a.checkCommand())
	return root
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Root().Commands() {
		names = append(names, c.Name())
	}
	return names
}

// version is the module's version as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s (%s)", info.Main.Version, info.GoVersion)
}

// hint is ", did you mean …?" or "".
func (a *app) hint(word string, names []string) string {
	if h := nearest.Hint(word, names); h != "" {
		return "; " + h
	}
	return ""
}

func (a *app) formatFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.format, "format", "text", "how to print: text for people, json for programs")
	cmd.Flags().StringVar(&a.lang, "lang", "en", "language of titles and lessons: en or zh")
}

func (a *app) runFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Uint64Var(&a.seed, "seed", 1, "what chance follows from; the same seed gives the same history")
	f.StringVar(&a.dir, "out", "", "directory for the histories and the summary (default reports/runs/<time>)")
	f.StringVar(&a.testbed, "testbed", "sim", "what to run on: sim")
	f.DurationVar(&a.guard, "guard", sim.DefaultGuard, "real time after which a run is said to spin")
	a.formatFlag(cmd)
}

// checkFlags refuses what no command accepts.
func (a *app) checkFlags() error {
	if formats := []string{"text", "json"}; a.format != formats[0] && a.format != formats[1] {
		return usagef("--format %q is neither text nor json%s", a.format, a.hint(a.format, formats))
	}
	if a.lang != "en" && a.lang != "zh" {
		return usagef("--lang %q is neither en nor zh", a.lang)
	}
	if a.testbed != "" && a.testbed != "sim" {
		return usagef("--testbed %q is not available; the one there is is sim", a.testbed)
	}
	if a.seeds < 0 || a.jobs < 0 {
		return usagef("--seeds and --jobs count from 1")
	}
	if a.guard < 0 {
		return usagef("--guard %v is negative", a.guard)
	}
	return nil
}

func versionNames() []string {
	var names []string
	for _, v := range catalog.All() {
		names = append(names, v.Name)
	}
	return names
}

func checkNames() []string {
	var names []string
	for _, c := range checker.All() {
		names = append(names, c.Name)
	}
	return names
}

// known is what a scenario may name.
func known() scenarios.Known {
	return scenarios.Known{Versions: versionNames(), Checks: checkNames(), Traits: harness.Traits()}
}

// versions returns those that --impl names, or all.
func (a *app) versions() ([]impls.Version, error) {
	if len(a.impls) == 0 {
		return catalog.All(), nil
	}
	var list []impls.Version
	for _, name := range a.impls {
		v, ok := catalog.Lookup(name)
		if !ok {
			return nil, usagef("there is no version %q%s; see lockpick list versions", name, a.hint(name, versionNames()))
		}
		list = append(list, v)
	}
	return list, nil
}

// scenario finds one by name in the catalogue, or by path.
func (a *app) scenario(name string) (*scenarios.Scenario, error) {
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.ContainsRune(name, os.PathSeparator) {
		s, err := scenarios.Load(name, known())
		if err != nil {
			return nil, usageError{err}
		}
		return s, nil
	}
	s, err := scenarios.Lookup(name, known())
	if err != nil {
		return nil, usageError{err}
	}
	return s, nil
}

// options are how reports are drawn on this invocation's output.
func (a *app) options() reports.Options {
	o := reports.Options{Full: a.full, Lang: a.lang, Versions: versionNames(), Scenarios: scenarios.Names(), Summaries: map[string]string{}}
	for _, v := range catalog.All() {
		o.Summaries[v.Name] = v.Summary
	}
	if f, ok := a.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = width
		}
	}
	return o
}
