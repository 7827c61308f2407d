package history

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Format is the version of the file format. A reader refuses every other one.
const Format = 1

// Header is the first line of a history: everything that a check needs to know
// about the run and that no record says.
type Header struct {
	Lockpick int    `json:"lockpick"` // Format
	Scenario string `json:"scenario"`
	Version  string `json:"version"`
	Testbed  string `json:"testbed"`
	Seed     uint64 `json:"seed"`

	Topology  Topology          `json:"topology"`
	Lock      Lock              `json:"lock"`
	Workload  Workload          `json:"workload"`
	Bounds    Bounds            `json:"bounds"`
	TimeScale float64           `json:"time_scale"`         // real time over scenario time; 1 in the simulator
	Software  map[string]string `json:"software,omitempty"` // name to version
	Labels    []string          `json:"labels,omitempty"`   // what a reader should know of the version; see LabelNotUnique and its like
}

// The labels, by which checks know what they may ask of a version.
const (
	LabelNoLock    = "there is no lock: the resource has a strategy of its own"
	LabelNotUnique = "owners are not unique"
	LabelOneOwner  = "one owner for all grants of a client"
	LabelInOrder   = "grants in order of arrival"
)

// Topology names the lock's nodes and says how many of them grant it.
type Topology struct {
	Name      string   `json:"name"`
	Nodes     []string `json:"nodes"`
	Quorum    int      `json:"quorum"`              // nodes that must hold the owner's value for the lock to be granted
	Primary   string   `json:"primary,omitempty"`   // at the start, when the others are its replicas
	Sentinels []string `json:"sentinels,omitempty"` // which watch them
}

// Lock is what every client was given to lock with. TTL is 0 when the version
// has no expiry.
type Lock struct {
	Key   string        `json:"key"`
	Count int           `json:"count,omitempty"` // how many locks there are, called as KeyOf says; 0 for the one that Key names
	Also  []string      `json:"also,omitempty"`  // further keys that are locked with Key as one
	TTL   time.Duration `json:"ttl"`
	Wait  time.Duration `json:"wait"`
}

// KeyOf returns the name of lock n, from 1.
func (l Lock) KeyOf(n int) string {
	if l.Count <= 1 {
		return l.Key
	}
	return fmt.Sprintf("%s:%d", l.Key, n)
}

// Workload says what the clients did with the lock.
type Workload struct {
	Resource string   `json:"resource"` // "register", "counter" or "stock"
	Initial  int64    `json:"initial"`
	Clients  []string `json:"clients"`
	Threads  int      `json:"threads,omitempty"`  // how many of the clients, in their order, are threads of one process; 0 for one
	Rounds   int      `json:"rounds"`             // critical sections that each client tries
	Nest     int      `json:"nest,omitempty"`     // how often each section acquires the lock, one inside the other; 0 for once
	Releases int      `json:"releases,omitempty"` // how often it gives it back; 0 for as often
	Readers  []string `json:"readers,omitempty"`  // clients that lock in shared mode and do not write
	Heed     bool     `json:"heed"`               // clients ask their lease before they write
}

// Process returns the threads of a client's process, itself among them.
func (w Workload) Process(client string) []string {
	i := slices.Index(w.Clients, client)
	if w.Threads <= 1 || i < 0 {
		return []string{client}
	}
	first := i - i%w.Threads
	return w.Clients[first:min(first+w.Threads, len(w.Clients))]
}

// Bounds are the limits that bounded promises are held against; 0 means that
// the check's own default applies, which its documentation states.
type Bounds struct {
	Availability       time.Duration `json:"availability,omitempty"`         // longest wait for a lock that no running client holds
	CommandsPerAcquire float64       `json:"commands_per_acquire,omitempty"` // most commands that a grant may cost on average
	RenewalsPerTTL     float64       `json:"renewals_per_ttl,omitempty"`     // most renewals of one lease in one TTL
	Overtakes          int           `json:"overtakes,omitempty"`            // most later arrivals that may be granted the lock before an earlier one
	Connections        int           `json:"connections,omitempty"`          // most connections that a node may have open at once
	Subscriptions      int           `json:"subscriptions,omitempty"`        // most subscriptions that a node may have at once
	Throughput         float64       `json:"throughput,omitempty"`           // least sections per second that all clients together must finish
}

// Validate reports the first reason why no check could rely on the header.
func (h Header) Validate() error {
	switch {
	case h.Lockpick == 0:
		return errors.New("this is not a lockpick history: its first line has no \"lockpick\" format number")
	case h.Lockpick != Format:
		return fmt.Errorf("format %d is not the format %d that this lockpick reads", h.Lockpick, Format)
	case h.Scenario == "", h.Version == "", h.Testbed == "":
		return errors.New("the header names no scenario, version or testbed")
	case len(h.Topology.Nodes) == 0:
		return errors.New("the header names no nodes")
	case h.Topology.Quorum < 1 || h.Topology.Quorum > len(h.Topology.Nodes):
		return fmt.Errorf("a quorum of %d does not fit %d nodes", h.Topology.Quorum, len(h.Topology.Nodes))
	case len(h.Workload.Clients) == 0:
		return errors.New("the header names no clients")
	case h.Lock.Count < 0 || h.Lock.Count > len(h.Workload.Clients):
		return fmt.Errorf("%d locks do not fit %d clients", h.Lock.Count, len(h.Workload.Clients))
	case h.Lock.Count > 1 && len(h.Lock.Also) > 0:
		return errors.New("there are several locks, and one of several keys")
	case h.Workload.Threads < 0 || h.Workload.Threads > len(h.Workload.Clients):
		return fmt.Errorf("processes of %d threads do not fit %d clients", h.Workload.Threads, len(h.Workload.Clients))
	}
	return nil
}

// History is a run that was recorded.
type History struct {
	Header  Header
	Records []Record

	// Complete is false when the file ends before the run did: the harness was
	// killed, or the disk was full. What is there can still be checked.
	Complete bool
}

// Line returns the line of the file that holds record i, from 1.
func Line(i int) int { return i + 2 }
