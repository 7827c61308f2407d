package redisd

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"lockpick/internal/resp"
)

// answerWithin is how long a server may take to answer before it is asked anew.
const answerWithin = time.Second

// ask sends commands to a server over a connection of their own and returns the
// bytes of their replies.
func ask(ctx context.Context, addr string, commands ...[]string) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var all [][]byte
	err := resp.Ask(ctx, addr, func(do resp.Asker) error {
		for _, c := range commands {
			reply, err := do(c...)
			if err != nil {
				return err
			}
			all = append(all, reply)
		}
		return nil
	})
	return all, err
}

// isUp returns nil when the process of that number answers at addr and has loaded
// its data. The number tells it from another server that was quicker to take the
// port.
func isUp(ctx context.Context, addr string, pid int) error {
	replies, err := ask(ctx, addr, []string{"PING"}, []string{"INFO", "server"})
	switch {
	case err != nil:
		return err
	case !bytes.Equal(replies[0], []byte("+PONG\r\n")):
		return fmt.Errorf("it answers %q to PING", replies[0])
	case !bytes.Contains(replies[1], fmt.Appendf(nil, "\r\nprocess_id:%d\r\n", pid)):
		return fmt.Errorf("another server answers at %s", addr)
	}
	return nil
}
