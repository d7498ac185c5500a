//go:build unix

package server

import (
	"math"
	"syscall"
)

// maxFiles returns the maximum number of open files and connections of this process.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
