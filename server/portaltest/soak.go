package portaltest

import "os"

// Repeat returns the number of repetitions of a test that only a long run makes strict: few, or many if
// PORTAL_SOAK is set, as make endurance does.
func Repeat(few, many int) int {
	if os.Getenv("PORTAL_SOAK") != "" { //nolint:forbidigo // every package would have to define a flag
		return many
	}
	return few
}
