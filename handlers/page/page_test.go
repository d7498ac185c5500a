package page_test

import (
	"testing"

	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

type (
	portal   = uitest.Portal
	screen   = uitest.Screen
	document = uitest.Document
)

// inTime runs a test with a portal in virtual time.
func inTime(t *testing.T, test func(*portal)) {
	t.Helper()
	uitest.InTime(t, uitest.Options{}, test)
}
