package links

import (
	"testing"

	"lockpick/internal/redistest"
)

// BenchmarkCommands compares a command over a link with one over a connection of
// its own, one after another and in pipelines of 100. A command is one step.
func BenchmarkCommands(b *testing.B) {
	for _, way := range []string{"direct", "link", "raw"} {
		for _, pipe := range []struct {
			name string
			size int
		}{{"one by one", 1}, {"pipeline", 100}} {
			b.Run(way+"/"+pipe.name, func(b *testing.B) {
				s := newServer(b)
				addr := s.addr()
				if way != "direct" {
					n := New(Hooks{})
					b.Cleanup(func() {
						if err := n.Close(); err != nil {
							b.Error(err)
						}
					})
					link := n.Link
					if way == "raw" {
						link = n.Raw
					}
					l, err := link("client-1", "redis-1", addr)
					if err != nil {
						b.Fatal(err)
					}
					addr = l.Addr()
				}
				shuttle(b, addr, pipe.size)
			})
		}
	}
}

// shuttle sends commands so many at a time, and waits for their replies.
func shuttle(b *testing.B, addr string, size int) {
	b.Helper()
	c := dialAddr(b, addr)
	var text []byte
	for range size {
		text = append(text, redistest.Command("SET", "lock:order:12", "0123456789abcdef", "NX", "PX", "30000")...)
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += size {
		c.write(string(text))
		for range size {
			if _, err := c.Receive(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}
