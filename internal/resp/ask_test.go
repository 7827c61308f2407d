package resp

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// serve answers each line that begins a word of the client's with the next reply,
// and then says no more.
func serve(t *testing.T, replies ...string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		lines := bufio.NewScanner(c)
		for _, reply := range replies {
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "*") {
			}
			if _, err := c.Write([]byte(reply)); err != nil {
				return
			}
		}
		for lines.Scan() { // until the client goes
		}
	}()
	return l.Addr().String()
}

func TestAsk(t *testing.T) {
	addr := serve(t, "+OK\r\n", "-ERR no\r\n", "*2\r\n:1\r\n$1\r\nx\r\n")
	var got []string
	err := Ask(t.Context(), addr, func(do Asker) error {
		for range 3 {
			reply, err := do("PING", "x")
			if err != nil {
				return err
			}
			got = append(got, string(reply))
		}
		return nil
	})
	if want := "+OK\r\n|-ERR no\r\n|*2\r\n:1\r\n$1\r\nx\r\n"; err != nil || strings.Join(got, "|") != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAskWhomNobodyAnswers(t *testing.T) {
	ask := func(do Asker) error { _, err := do("PING"); return err }
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if err := Ask(ctx, serve(t), ask); err == nil || ctx.Err() == nil {
		t.Errorf("a server that says nothing: %v before %v", err, ctx.Err())
	}
	if err := Ask(t.Context(), serve(t, "hello\r\n"), ask); err == nil {
		t.Error("a server that does not speak RESP is understood")
	}
	own := errors.New("mine")
	if err := Ask(t.Context(), serve(t), func(Asker) error { return own }); !errors.Is(err, own) {
		t.Errorf("an error of the caller's own: %v", err)
	}
}
