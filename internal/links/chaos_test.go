package links

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"lockpick/faults"
	"lockpick/internal/redistest"
)

// A hundred connections while everything that can go wrong does, at random: of
// each command it is said once what became of it, whoever gets a reply gets the
// one to its own command, and nothing is left in the end.
func TestChaos(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { chaos(t, seed) })
	}
}

func chaos(t *testing.T, seed uint64) {
	t.Helper()
	const connections, steps = 100, 200
	chance := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	w := newWitness()
	hooks := chance(1000)
	var mu sync.Mutex // of hooks
	rarely := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return hooks.IntN(200) == 0
	}
	w.sending = func(context.Context, *Command) bool { return rarely() }
	w.answered = func(*Command, []byte) bool { return rarely() }
	n := newNetwork(t, w)
	servers := []*server{newServer(t), newServer(t)}
	var links []*Link
	for i := range 10 {
		links = append(links, mustLink(t, n, fmt.Sprintf("client-%d", i), "redis", servers[i%2].addr()))
	}
	over := make(chan struct{})
	var clients sync.WaitGroup
	for i := range connections {
		clients.Go(func() { babble(t, links[i%len(links)], chance(uint64(i)), over) })
	}
	faultsAtRandom(links, servers, chance(2000), steps)
	close(over)
	for _, l := range links { // as the end of a run does
		l.Reset()
	}
	clients.Wait()
	w.mu.Lock()
	fates := map[string]int{}
	for _, how := range w.fate {
		fates[how]++
	}
	w.mu.Unlock()
	if fates["delivered"] == 0 || fates["lost"] == 0 {
		t.Errorf("chaos is to let some pass and lose some: %v", fates)
	}
}

// babble opens one connection after another and sends pipelines, until over.
func babble(t *testing.T, l *Link, chance *rand.Rand, over chan struct{}) {
	t.Helper()
	for n := 0; !closed(over); {
		nc, err := net.DialTimeout("tcp", l.Addr(), bound)
		if err != nil {
			t.Error(err)
			return
		}
		c := redistest.NewConn(nc)
		for alive := true; alive && !closed(over); {
			alive = pipeline(t, nc, c, chance, &n)
		}
		nc.Close()
	}
}

// pipeline sends some commands and reads their replies, and reports whether the
// connection is still good. It may hang up in the midst.
func pipeline(t *testing.T, nc net.Conn, c *redistest.Conn, chance *rand.Rand, n *int) bool {
	t.Helper()
	var words []string
	text := ""
	for range 1 + chance.IntN(5) {
		*n++
		words = append(words, strconv.Itoa(*n))
		text += wire("ECHO " + strconv.Itoa(*n))
	}
	cut := chance.IntN(len(text))
	for _, part := range []string{text[:cut], text[cut:]} {
		if _, err := nc.Write([]byte(part)); err != nil {
			return false
		}
	}
	if chance.IntN(20) == 0 {
		return false
	}
	for _, word := range words {
		if err := nc.SetReadDeadline(time.Now().Add(time.Duration(20+chance.IntN(300)) * time.Millisecond)); err != nil {
			return false
		}
		got, err := c.Receive()
		if err != nil {
			return false
		}
		if want := fmt.Sprintf("$%d\r\n%s\r\n", len(word), word); string(got) != want && string(got) != "-NO\r\n" {
			t.Errorf("the reply is %q, want %q", got, want)
			return false
		}
	}
	return true
}

// faultsAtRandom does harm and heals it, with several at a time.
func faultsAtRandom(links []*Link, servers []*server, chance *rand.Rand, steps int) {
	var heal []func()
	for range steps {
		l := links[chance.IntN(len(links))]
		d := []faults.Direction{faults.ToNode, faults.ToClient, faults.Both}[chance.IntN(3)]
		switch chance.IntN(6) {
		case 0:
			l.Cut(d)
			heal = append(heal, func() { l.Mend(d) })
		case 1:
			l.Hold(d)
			heal = append(heal, func() { l.Release(d) })
		case 2:
			by := time.Duration(chance.IntN(5)) * time.Millisecond
			l.Slow(d, by)
			heal = append(heal, func() { l.Slow(d, -by) })
		case 3:
			heal = append(heal, l.Refuse([]string{"ECHO"}, "NO"))
		case 4:
			l.Reset()
		case 5:
			s := servers[chance.IntN(len(servers))]
			s.mu.Lock()
			for _, c := range s.conns {
				c.Close()
			}
			s.conns = nil
			s.mu.Unlock()
		}
		time.Sleep(time.Duration(chance.IntN(5)) * time.Millisecond)
		for len(heal) > 12 {
			i := chance.IntN(len(heal))
			heal[i]()
			heal = append(heal[:i], heal[i+1:]...)
		}
	}
	for _, one := range heal {
		one()
	}
}
