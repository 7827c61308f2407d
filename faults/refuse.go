package faults

import (
	"fmt"
	"strings"
)

// Refuser is a world whose nodes can be made to answer with an error.
type Refuser interface {
	// Refuse lets the node answer the commands of those names, in capitals, with
	// the error and not execute them; all commands when there are no names.
	Refuse(node string, names []string, text string) (end func(), err error)
}

// Refusal is an error that a Redis answers with while something is wrong with it.
type Refusal string

// The refusals, by their names in a scenario.
const (
	Busy        Refusal = "busy"         // another client's script runs and does not end
	OOM         Refusal = "oom"          // it is out of memory and may not evict
	ReadOnly    Refusal = "readonly"     // it is a replica
	Loading     Refusal = "loading"      // it has just started and reads its data
	MisConf     Refusal = "misconf"      // it cannot save, and takes no writes
	NoPerm      Refusal = "noperm"       // the user may not run this command
	ClusterDown Refusal = "cluster-down" // its cluster has lost a slot
)

// texts are Redis' own.
var texts = map[Refusal]string{
	Busy:        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	OOM:         "OOM command not allowed when used memory > 'maxmemory'.",
	ReadOnly:    "READONLY You can't write against a read only replica.",
	Loading:     "LOADING Redis is loading the dataset in memory",
	MisConf:     "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
	NoPerm:      "NOPERM this user has no permissions to run the command",
	ClusterDown: "CLUSTERDOWN The cluster is down",
}

// Refusals lists every Refusal.
func Refusals() []Refusal {
	return []Refusal{Busy, OOM, ReadOnly, Loading, MisConf, NoPerm, ClusterDown}
}

// Text is the error as a client hears it.
func (r Refusal) Text() string { return texts[r] }

// Refuse lets a node answer with an error instead of executing what it is told.
type Refuse struct {
	Node     string
	With     Refusal
	Commands []string // in capitals; all when empty
}

// Name implements Fault.
func (Refuse) Name() string { return "refuse" }

// Target implements Fault.
func (f Refuse) Target() string {
	what := "everything"
	if len(f.Commands) > 0 {
		what = strings.Join(f.Commands, " and ")
	}
	return fmt.Sprintf("%s on %s with %s", what, f.Node, f.With)
}

// Uses implements Fault.
func (f Refuse) Uses() []Use { return []Use{{f.Node, Node}} }

// Inject implements Fault; healing lets the node work again.
func (f Refuse) Inject(w World) (func(), error) {
	r, ok := w.(Refuser)
	if !ok {
		return nil, &ErrCannot{f.Name()}
	}
	return r.Refuse(f.Node, f.Commands, f.With.Text())
}
