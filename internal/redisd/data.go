package redisd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lookEvery is how often a server's file is looked at, and so how exactly the last
// part of it can be cut off.
const lookEvery = 5 * time.Millisecond

// data are what a server keeps on disk. Its methods are called by one goroutine at
// a time.
type data struct {
	dir    string
	kept   bool        // there is an append-only file
	file   fs.FileInfo // the one that grows, nil before there is one
	number int         // of it: how many there have been
	growth growth
}

// watch notes how the file grows, until the server has ended.
func (d *data) watch(ended <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		d.look()
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// look notes the file's size. The time is that after it was read, so that all that
// was in the file then was there at that time.
func (d *data) look() {
	file, err := os.Stat(d.path())
	if err != nil {
		file = nil
	} else if d.file == nil || !os.SameFile(file, d.file) {
		d.number++
	}
	d.file = file
	s := sample{at: time.Now()}
	if file != nil {
		s.file, s.size = d.number, file.Size()
	}
	d.growth.add(s)
}

// path is the file that commands are appended to: since Redis 7.0 the newest of
// several, and the only one before.
func (d *data) path() string {
	parts := filepath.Join(d.dir, "appendonlydir")
	entries, _ := os.ReadDir(parts) // older servers have none
	newest, name := -1, ""
	for _, e := range entries {
		if n := increment(e.Name()); n > newest {
			newest, name = n, e.Name()
		}
	}
	if name == "" {
		return filepath.Join(d.dir, "appendonly.aof")
	}
	return filepath.Join(parts, name)
}

// increment returns the number in a name such as appendonly.aof.12.incr.aof, -1
// for what has another one.
func increment(name string) int {
	rest, ok := strings.CutSuffix(name, ".incr.aof")
	if !ok {
		return -1
	}
	n, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '.')+1:])
	if err != nil {
		return -1
	}
	return n
}

// lose takes away what came in the last stretch of that length before now, and
// everything when there is no telling what there was before: no append-only file,
// or another one, as a replica begins with what its primary sent.
func (d *data) lose(last time.Duration, now time.Time) error {
	if d.kept && last <= 0 {
		return nil
	}
	end := now.Add(-last)
	d.look()
	s, ok := d.growth.before(end)
	if !d.kept || !ok || s.file == 0 || d.file == nil || s.file != d.number {
		d.growth, d.file = growth{}, nil
		if err := os.RemoveAll(d.dir); err != nil {
			return fmt.Errorf("take its data away: %w", err)
		}
		return os.Mkdir(d.dir, 0o700)
	}
	d.growth.forget(end)
	if err := os.Truncate(d.path(), s.size); err != nil {
		return fmt.Errorf("cut its data off: %w", err)
	}
	return nil
}
