//go:build !unix

package server

import "math"

// maxFiles returns the maximum number of open files and connections of this process.
func maxFiles() int { return math.MaxInt32 }
