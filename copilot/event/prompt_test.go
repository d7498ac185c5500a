package event_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/event"
)

func TestAttachedTextDoesNotLeaveItsBlock(t *testing.T) {
	for text, want := range map[string]string{
		"x":               "a.go:\n```\nx\n```",
		"x\n```\ny":       "a.go:\n````\nx\n```\ny\n````",
		"`````\ny\n`````": "a.go:\n``````\n`````\ny\n`````\n``````",
	} {
		assert.Equal(t, want, event.Attachment{Name: "a.go", Text: text}.Fenced())
	}
}
