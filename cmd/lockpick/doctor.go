package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"lockpick/internal/redisd"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can run, and how to get what is missing",
		Long: `doctor looks for everything that a testbed needs and says what is there, in which
version, what is missing, what that is for, and how to get it. The simulator
needs nothing.

It exits 0 when nothing is missing, and 4 when something is.`,
		Example: `  lockpick doctor`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("doctor takes no arguments: it looks at everything")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, e := range examinations {
				found, err := e.look(cmd.Context())
				mark := "✓"
				if err != nil {
					mark, found = "✗", err.Error()
					a.status = statusFailed
				}
				a.printf("%s %-13s %-34s %s\n", mark, e.name, e.use, found)
			}
			return nil
		},
	}
}

// examination is one look at this machine.
type examination struct {
	name string
	use  string                                // what it is for
	look func(context.Context) (string, error) // what is there, or what is missing and how to get it
}

// examinations are in the order in which one would mend what they find.
var examinations = []examination{
	{"lockpick", "--testbed sim", func(context.Context) (string, error) {
		return fmt.Sprintf("%s, %s/%s", version(), runtime.GOOS, runtime.GOARCH), nil
	}},
	{"files", "--testbed local", temporary},
	{"ports", "--testbed local", ports},
	{"redis-server", "--testbed local", func(ctx context.Context) (string, error) {
		p, err := redisd.Installed(ctx)
		return fmt.Sprintf("%s at %s", p.Version, p.Path), err
	}},
	{"libfaketime", "--testbed local, clocks of nodes", func(context.Context) (string, error) {
		if reason := redisd.Faketime(); reason != "" {
			return "", errors.New(reason)
		}
		return "there", nil
	}},
	{"go", "building and testing lockpick", func(ctx context.Context) (string, error) {
		out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("is not installed: see https://go.dev/doc/install")
		}
		return strings.TrimSpace(string(out)), err
	}},
}

// temporary tries the directory for temporary files.
func temporary(context.Context) (string, error) {
	h, err := redisd.NewHome()
	if err != nil {
		return "", fmt.Errorf("%w; TMPDIR names another directory", err)
	}
	return "can be made in " + os.TempDir(), h.Close()
}

// ports tries to listen.
func ports(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("of 127.0.0.1 cannot be listened on: %w", err)
	}
	return "of 127.0.0.1 can be listened on", l.Close()
}
