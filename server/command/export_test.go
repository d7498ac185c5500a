package command

// For the tests of package command_test.
var (
	Plain        = plain
	When         = shortTime
	Unrestricted = unrestricted
)
