//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package redisd

import (
	"io/fs"
	"os"
	"syscall"
)

// lockFile locks a file for as long as it is open here, or fails when somebody
// else has it locked.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// isMine reports whether a file belongs to this user.
func isMine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
