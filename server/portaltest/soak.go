package portaltest

import "os"

// Repeat is how often a test does what only a long time proves: a few times, or
// many times where PORTAL_SOAK is set, as make soak does.
func Repeat(few, many int) int {
	if os.Getenv("PORTAL_SOAK") != "" { //nolint:forbidigo // a flag would have to be one of every package
		return many
	}
	return few
}
