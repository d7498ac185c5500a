package ui_test

import (
	"testing"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/ui"
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

// inTimeWith is inTime with options of the dialect.
func inTimeWith(t *testing.T, o ui.Options, test func(*portal)) {
	t.Helper()
	uitest.InTime(t, uitest.Options{UI: o}, test)
}

// inTimeOf is inTime with options of the host.
func inTimeOf(t *testing.T, host copilot.Options, test func(*portal)) {
	t.Helper()
	uitest.InTime(t, uitest.Options{Host: host}, test)
}

func text(s string) document { return document{"type": "text", "text": s} }
