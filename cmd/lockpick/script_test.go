package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the output that is shown in the documentation")

// TestMain makes the test binary itself the command lockpick, on the PATH of
// every test here.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lockpick": main})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  status4script,
			"summary": summary4script,
			"shorten": shorten4script,
			"count":   count4script,
		},
	})
}

// status N program args… runs a program that must exit with N.
func status4script(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// summary FILE RUNS AS_EXPECTED reads the JSON of a summary, sees to it that it
// has the keys that programs rely on, and compares the histories with their sums.
func summary4script(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: summary FILE RUNS AS_EXPECTED")
	}
	var s struct {
		Runs       []map[string]any
		AsExpected *bool `json:"as_expected"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &s))
	if s.AsExpected == nil {
		ts.Fatalf("there is no as_expected")
	}
	if runs, as := strconv.Itoa(len(s.Runs)), strconv.FormatBool(*s.AsExpected); runs != args[1] || as != args[2] {
		ts.Fatalf("%s runs, as_expected %s; want %s, %s", runs, as, args[1], args[2])
	}
	for _, r := range s.Runs {
		for _, key := range []string{"scenario", "version", "testbed", "seed", "as_expected", "verdicts", "findings", "history", "history_sha256"} {
			if r[key] == nil {
				ts.Fatalf("a run has no %s, only %v", key, slices.Sorted(maps.Keys(r)))
			}
		}
		sum := sha256.Sum256([]byte(ts.ReadFile(fmt.Sprint(r["history"]))))
		if got := hex.EncodeToString(sum[:]); got != r["history_sha256"] {
			ts.Fatalf("%v has the sum %s, and the summary says %v", r["history"], got, r["history_sha256"])
		}
	}
}

// shorten FILE BYTES cuts bytes off the end of a file, as a kill does.
func shorten4script(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shorten FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:len(text)-n]), 0o644))
}

// count N PATTERN counts files.
func count4script(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: count N PATTERN")
	}
	files, err := filepath.Glob(ts.MkAbs(args[1]))
	ts.Check(err)
	if strconv.Itoa(len(files)) != args[0] {
		ts.Fatalf("%d files, want %s: %v", len(files), args[0], files)
	}
}
