package impls

import "sync"

// Process is what the handles of one process have in common: what a library
// keeps in a static field or a package variable, such as a mutex in front of
// Redis, a connection for subscriptions, or the list of leases that one timer
// renews. Its zero value is an empty process. It is safe for concurrent use.
type Process struct {
	mu     sync.Mutex
	values map[string]any
}

// Shared returns what the process keeps under the name. Whoever asks first has it
// made, by a function that must not ask the process for anything.
func Shared[T any](p *Process, name string, make func() T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.values[name]; ok {
		return v.(T)
	}
	if p.values == nil {
		p.values = map[string]any{}
	}
	v := make()
	p.values[name] = v
	return v
}
