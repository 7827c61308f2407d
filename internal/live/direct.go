package live

import (
	"context"
	"fmt"
	"net"

	"lockpick/internal/resp"
)

// asker sends a command and returns the reply, of which an error is one.
type asker func(args ...string) ([]byte, error)

// ask lets do speak with the node directly, past every link. The connection ends
// with ctx.
func (n *node) ask(ctx context.Context, do func(asker) error) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", n.world.servers.Addr(n.name))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // all that was asked for has come
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var replies resp.Replies
	var ready [][]byte
	buffer := make([]byte, 16<<10)
	return do(func(args ...string) ([]byte, error) {
		if _, err := conn.Write(words(args)); err != nil {
			return nil, err
		}
		for len(ready) == 0 {
			m, err := conn.Read(buffer)
			if err != nil {
				return nil, err
			}
			if ready, err = replies.Feed(buffer[:m]); err != nil {
				return nil, err
			}
		}
		reply := ready[0]
		ready = ready[1:]
		return reply, nil
	})
}

// words are the bytes of a command.
func words(args []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}
