package demo_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/demo"
)

func TestUnwrap(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"the time stands before the prompt", "<current_datetime>2026</current_datetime>\n\nhello\nyou", "hello\nyou"},
		{
			"notices may hold tags and keywords",
			"<mode_changed_notice>\n<plan_mode>\ncall `exit` and fail</plan_mode>\n</mode_changed_notice>\n\nsay `x`", "say `x`",
		},
		{"attachments stand on both sides", "<ide_selection>run</ide_selection>\nrecall\n<tagged_files>* /a</tagged_files>", "recall"},
		{"wrappers repeat", "<system_reminder>a</system_reminder>x<system_reminder>b</system_reminder>", "x"},
		{"news of the CLI leaves nothing", "<system_notification>\ndone\n</system_notification>", ""},
		{"an open tag is the user's", "what is <system_reminder> for?", "what is <system_reminder> for?"},
		{"other tags are the user's", "<b>x</b>", "<b>x</b>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, demo.Unwrap(tt.content))
		})
	}
}
