package faults

// Forgetter is a world whose nodes can lose the scripts that they have cached.
type Forgetter interface {
	ForgetScripts(node string) error
}

// ForgetScripts empties a node's script cache, as SCRIPT FLUSH and a restart do: the
// next EVALSHA is answered with NOSCRIPT.
type ForgetScripts struct{ Node string }

// Name implements Fault.
func (ForgetScripts) Name() string { return "forget-scripts" }

// Target implements Fault.
func (f ForgetScripts) Target() string { return f.Node }

// Uses implements Fault.
func (f ForgetScripts) Uses() []Use { return []Use{{f.Node, Node}} }

// Inject implements Fault. It cannot be healed; clients load the scripts again.
func (f ForgetScripts) Inject(w World) (func(), error) {
	s, ok := w.(Forgetter)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return nil, s.ForgetScripts(f.Node)
}
