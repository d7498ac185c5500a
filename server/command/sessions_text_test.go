package command_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/command"
)

func TestForeignTextIsCutToItsColumn(t *testing.T) {
	for text, want := range map[string]string{
		"a title":                  "a title",
		"two\nlines\tand\r\n more": "two lines and more",
		"\x1b[2J\x1b]0;x\x07gone":  "gone",
		"\u202eback\u2066wards":    "backwards",
		"no\x9bm UTF-8 \xff":       "no\uFFFDm UTF-8 \uFFFD",
		"123456789 123456789 1":    "123456789 123456789…",
		"ÄÖÜäöüßéèêÄÖÜäöüßéèê":     "ÄÖÜäöüßéèêÄÖÜäöüßéèê",
		"   ": "",
	} {
		assert.Equal(t, want, command.Plain(text, 20), "%q", text)
	}
}

func TestShortTime(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.Local)
	for want, at := range map[string]time.Time{
		"09:59":       now.Add(-time.Minute),
		"1 Mar 23:00": now.Add(-11 * time.Hour),
		"2025-12-31":  now.AddDate(0, -2, -2),
	} {
		assert.Equal(t, want, command.When(at.UTC(), now))
	}
}
