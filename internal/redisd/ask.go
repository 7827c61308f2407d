package redisd

import (
	"bytes"
	"context"
	"fmt"
	"net"
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
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends a read that waits
	var text []byte
	for _, c := range commands {
		text = appendCommand(text, c)
	}
	if _, err := conn.Write(text); err != nil {
		return nil, err
	}
	var cut resp.Replies
	var all [][]byte
	for buf := make([]byte, 4<<10); len(all) < len(commands); {
		n, err := conn.Read(buf)
		more, broken := cut.Feed(buf[:n])
		all = append(all, more...)
		if broken != nil {
			return nil, broken
		}
		if err != nil && len(all) < len(commands) {
			return nil, err
		}
	}
	return all, nil
}

func appendCommand(b []byte, args []string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
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
