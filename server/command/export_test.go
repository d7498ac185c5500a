package command

import "io"

// For the tests of package command_test.
var (
	Plain        = plain
	When         = shortTime
	Unrestricted = unrestricted
)

// WriteTo writes to a file as an export does.
func WriteTo(path string, write func(io.Writer) error) error { return Process{}.writeTo(path, write) }
