package links

import "sync"

// inbox keeps what has come and nobody has looked at. One goroutine takes.
type inbox struct {
	wake chan struct{}

	mu     sync.Mutex
	pieces [][]byte
	closed bool
}

func newInbox() inbox { return inbox{wake: make(chan struct{}, 1)} }

// put adds a piece, which is the inbox's from now on. An empty one only makes the
// one who takes look around.
func (i *inbox) put(piece []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pieces = append(i.pieces, piece)
	signal(i.wake)
}

// close says that no more comes.
func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	signal(i.wake)
}

// take waits for the next piece. There is none any more when the inbox was closed
// and is empty, or when done is closed.
func (i *inbox) take(done <-chan struct{}) ([]byte, bool) {
	for !closed(done) {
		i.mu.Lock()
		pieces, end := i.pieces, i.closed
		if len(pieces) > 0 {
			i.pieces = pieces[1:]
		}
		i.mu.Unlock()
		switch {
		case len(pieces) > 0:
			piece := pieces[0]
			pieces[0] = nil
			return piece, true
		case end:
			return nil, false
		}
		select {
		case <-i.wake:
		case <-done:
		}
	}
	return nil, false
}
