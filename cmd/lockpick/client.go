package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockpick/impls/catalog"
	"lockpick/impls/external"
)

func (a *app) clientCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "client",
		Short: "Be one lock client, for a program that speaks the adapter protocol",
		Long: `client is a process with locks of the catalogue in it: it reads requests of the
adapter protocol from its standard input, one JSON object per line, and writes
the replies to its standard output, until its input ends. Such a process can be
stopped and killed, which is what a pause and a crash are on real servers; by hand it
shows what an adapter in another language has to do. The simulator needs none.
docs/adapter-protocol.md has the protocol.`,
		Example: `  echo '{"id":1,"op":"open","open":{"protocol":1,"version":"lua-release","client":"me","key":"k","ttl_ms":30000,"redis":{"nodes":["127.0.0.1:6379"],"timeout_ms":3000}}}' | lockpick client`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("client takes no arguments: what it is to do, it reads from its standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if term.IsTerminal(int(os.Stdin.Fd())) {
				cmd.PrintErrln("lockpick: waiting for requests of the adapter protocol; an end of input ends this")
			}
			err := external.Serve(cmd.Context(), os.Stdin, a.out, catalog.Lookup)
			if errors.Is(err, external.ErrRequest) {
				return usageError{err}
			}
			return err
		},
	}
}
