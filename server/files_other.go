//go:build !unix

package server

import "math"

// maxFiles is how many files and connections this process may have open.
func maxFiles() int { return math.MaxInt32 }
