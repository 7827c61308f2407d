package faults

// Drop loses the message that set it off: a request before it is sent, or a
// reply after the command was applied. It needs a trigger on the wire, and every
// testbed that offers such triggers can do it.
type Drop struct{ What Message }

// Message is one half of a command's way.
type Message string

// The messages that can be dropped.
const (
	Request Message = "request"
	Reply   Message = "reply"
)

// Name implements Fault.
func (Drop) Name() string { return "drop" }

// Target implements Fault.
func (f Drop) Target() string { return string(f.What) }

// Uses implements Fault.
func (Drop) Uses() []Use { return nil }

// Inject implements Fault. The Schedule answers the testbed that the message is
// to be dropped; there is nothing else to do.
func (Drop) Inject(World) (func(), error) { return nil, nil }
