// Package require says what becomes of a test whose programs are not installed.
//
// Only tests import it. It is the one place that reads LOCKPICK_REQUIRE.
//
// The rule that surprises: a missing program skips the test, and so a machine
// without it passes. Where the tests must run, as in CI, LOCKPICK_REQUIRE names
// the programs, and a missing one fails.
package require

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Variable is the environment variable with the names of what must not be
// missing, separated by commas, such as "redis,faketime".
const Variable = "LOCKPICK_REQUIRE"

// Missing ends the test because name is not there: it skips it with the reason,
// or fails it when Variable names it.
func Missing(t testing.TB, name, reason string) {
	t.Helper()
	if Required(name) {
		t.Fatalf("%s=%s, but %s", Variable, os.Getenv(Variable), reason)
	} else {
		t.Skipf("%s (%s=%s makes this a failure)", reason, Variable, name)
	}
}

// Required reports whether Variable has the name.
func Required(name string) bool {
	return slices.Contains(strings.FieldsFunc(os.Getenv(Variable), func(r rune) bool { return r == ',' || r == ' ' }), name)
}
