//go:build !linux

package redistest

import "os/exec"

// diesWithUs can do nothing here: a test that is killed leaves its server behind.
func diesWithUs(*exec.Cmd) {}
