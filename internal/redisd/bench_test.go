package redisd

import (
	"fmt"
	"testing"
)

// BenchmarkLife is how long it takes to start a server, to stop it, to start it
// again and to close it.
func BenchmarkLife(b *testing.B) {
	for _, c := range []Config{{}, {Persist: true}, {Persist: true, Clock: true}} {
		b.Run(fmt.Sprintf("persist=%t/clock=%t", c.Persist, c.Clock), func(b *testing.B) {
			if c.Clock {
				needFaketime(b)
			}
			h, p := mustHome(b), mustProgram(b)
			for _, verb := range []string{"start", "stop", "restart", "close"} {
				b.Run(verb, func(b *testing.B) {
					for b.Loop() {
						c.Name = "redis-1"
						b.StopTimer()
						verbs := map[string]func(s *Server) error{
							"stop":    func(s *Server) error { return s.Stop(0) },
							"restart": func(s *Server) error { return s.Start(b.Context()) },
							"close":   (*Server).Close,
						}
						if verb == "start" {
							b.StartTimer()
						}
						s, err := Start(b.Context(), p, h, c)
						b.StopTimer()
						must(b, err)
						if verb == "restart" {
							must(b, s.Stop(0))
						}
						b.StartTimer()
						if do := verbs[verb]; do != nil {
							must(b, do(s))
						}
						b.StopTimer()
						must(b, s.Close())
						b.StartTimer()
					}
				})
			}
		})
	}
}
