package redisd

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// journal remembers how long a server's append-only file was when, so that the
// last of what it wrote can be cut off.
type journal struct {
	file string
	over chan struct{}
	done sync.WaitGroup

	sizes []size // guarded by done, or of the goroutine that watches
}

// size is how long a file was at a time.
type size struct {
	at    time.Time
	bytes int64
}

// glance is how often the file is looked at.
const glance = 2 * time.Millisecond

func keepJournal(dir string) *journal {
	j := &journal{
		file: filepath.Join(dir, "appendonlydir", "appendonly.aof.1.incr.aof"),
		over: make(chan struct{}),
	}
	j.done.Go(j.watch)
	return j
}

// watch notes each length that the file has had. One who writes seldom makes few.
func (j *journal) watch() {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		j.look()
		select {
		case <-tick.C:
		case <-j.over:
			j.look()
			return
		}
	}
}

func (j *journal) look() {
	info, err := os.Stat(j.file)
	if err != nil {
		return // it is made with the first command that writes, or soon
	}
	if n := len(j.sizes); n == 0 || j.sizes[n-1].bytes != info.Size() {
		j.sizes = append(j.sizes, size{time.Now(), info.Size()})
	}
}

// end is called once, when the server has ended.
func (j *journal) end() {
	close(j.over)
	j.done.Wait()
}

// cut takes off what was written in the last stretch of time before the end.
func (j *journal) cut(lose time.Duration) error {
	if lose == 0 || len(j.sizes) == 0 {
		return nil
	}
	limit := time.Now().Add(-lose)
	if lose > time.Hour { // which no run takes, and the subtraction might not bear
		limit = time.Time{}
	}
	keep := int64(0)
	for _, s := range j.sizes {
		if !s.at.After(limit) {
			keep = s.bytes
		}
	}
	return os.Truncate(j.file, keep)
}
