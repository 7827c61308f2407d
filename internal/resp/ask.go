package resp

import (
	"context"
	"net"
)

// Asker sends a command and returns the bytes of the reply, of which an error of
// the server's is one.
type Asker func(args ...string) ([]byte, error)

// Ask lets do speak with the server at addr, "host:port", on a connection of its
// own that ends with ctx or when do returns. The error is do's, or that of the
// connection.
func Ask(ctx context.Context, addr string, do func(Asker) error) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()                                          // all that was asked for has come
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends a read that waits
	var replies Replies
	var ready [][]byte
	buffer := make([]byte, 16<<10)
	return do(func(args ...string) ([]byte, error) {
		if _, err := conn.Write(AppendCommand(nil, args...)); err != nil {
			return nil, err
		}
		for len(ready) == 0 {
			n, err := conn.Read(buffer)
			more, broken := replies.Feed(buffer[:n])
			ready = append(ready, more...)
			switch {
			case broken != nil:
				return nil, broken
			case err != nil && len(ready) == 0:
				return nil, err
			}
		}
		reply := ready[0]
		ready = ready[1:]
		return reply, nil
	})
}
