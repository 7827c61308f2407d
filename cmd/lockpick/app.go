package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"lockpick/impls/catalog"
	"lockpick/reports"
	"lockpick/scenarios"
)

// The exit statuses.
const (
	statusOK        = 0 // everything is as expected
	statusViolated  = 1 // a violation, or a drift from the expectation
	statusUsage     = 2 // the command line or a file that it names makes no sense
	statusUndecided = 3 // nothing is violated, but something could not be judged
	statusFailed    = 4 // the harness or the testbed failed, or was interrupted
)

// usageError is a mistake of whoever typed the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// app is one invocation.
type app struct {
	out, err io.Writer
	status   int
	broken   error // the first write to out that failed

	files map[string]file // the scenarios that came from a file, by their name

	// flags that several commands share; a default is that of every command
	seed    uint64
	seeds   int
	dir     string
	format  string
	lang    string
	testbed string
	scale   float64
	jobs    int
	guard   time.Duration
	full    bool
	brief   bool
}

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{out: stdout, err: stderr, files: map[string]file{}, testbed: simulated, scale: defaultScale}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.broken
	}
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
says which promise broke, when, and why. It simulates: virtual time, no server,
and the same seed gives the same history, byte for byte.

Exit status: 0 as expected, 1 a violation or a drift from the expectation,
2 usage, 3 undecided, 4 the harness or the testbed failed, or was interrupted.`,
		Example: `  lockpick matrix
  lockpick run delete-other --impl setnx-ex
  lockpick explain get-del-window`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args:          knownCommand, // the root command is called with what is none
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(a.matrixCommand(), a.runCommand(), a.listCommand(), a.explainCommand(), a.replayCommand(), a.checkCommand(), a.agreeCommand(), a.doctorCommand(), a.clientCommand())
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Args = knownCommand
		}
	}
	return root
}

// flagError makes a mistake of whoever typed it of what pflag refuses.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return unknown("flag", "--"+missing.GetSpecifiedName(), names, cmd.CommandPath()+" --help")
	}
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

// knownCommand takes nothing, or the name of a command.
func knownCommand(cmd *cobra.Command, args []string) error {
	var names []string
	for _, c := range cmd.Root().Commands() {
		names = append(names, c.Name())
	}
	if len(args) == 0 || slices.Contains(names, args[0]) {
		return nil
	}
	return unknown("command", args[0], names, "lockpick --help")
}

// version is the module's version as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s (%s)", info.Main.Version, info.GoVersion)
}

// printf writes to the command's output. That it could not is told at the end.
func (a *app) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(a.out, format, args...); err != nil && a.broken == nil {
		a.broken = err
	}
}

// options are how reports are drawn on this invocation's output.
func (a *app) options() reports.Options {
	o := reports.Options{Full: a.full, Lang: a.lang, Versions: versionNames(), Strategies: known().Strategies, Scenarios: scenarios.Names(), Summaries: map[string]string{}}
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
