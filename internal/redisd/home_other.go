//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package redisd

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile cannot be done here, and so no home is ever taken for abandoned.
func lockFile(*os.File) error { return errors.ErrUnsupported }

func isMine(fs.FileInfo) bool { return false }
