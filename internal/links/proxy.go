package links

import (
	"fmt"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// start starts the link's proxy. Its toxics are put in place before and never
// changed: adding and removing them is how toxiproxy itself strikes a link, and
// it can lose data then that nothing should.
func (l *Link) start(name, upstream string) error {
	l.proxy = toxiproxy.NewProxy(l.network.server, name, "127.0.0.1:0", upstream)
	for dir, s := range [...]stream.Direction{toNode: stream.Upstream, toClient: stream.Downstream} {
		// toxics are made by the name of their type, from a list that all programs
		// share; ours takes the place of one that is there, and so has its link
		t, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type": "noop", "stream": %q}`, s)))
		if err != nil {
			return err
		}
		t.Toxic = &toxic{l, dir}
	}
	if err := l.proxy.Start(); err != nil {
		return err
	}
	l.addr = l.proxy.Listen
	return nil
}

// toxic is what all data of one direction of a link goes through.
type toxic struct {
	link *Link
	dir  int
}

var _ toxics.StatefulToxic = (*toxic)(nil)

// NewState implements toxics.StatefulToxic. The proxy sets up a connection's
// direction to the node and then that to the client, in the goroutine that accepts
// connections.
func (t *toxic) NewState() any {
	if t.dir == toNode {
		return t.link.open().halves[toNode]
	}
	c := t.link.opening
	go c.run()
	return c.halves[toClient]
}

// Pipe implements toxics.Toxic.
func (t *toxic) Pipe(stub *toxics.ToxicStub) { stub.State.(*half).intake(stub) }
