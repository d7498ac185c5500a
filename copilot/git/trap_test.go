package git_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func TestPlainGitTriggersTrap(t *testing.T) {
	trap := gittest.NewTrap(t)
	sprung := trap.Trigger(t)
	assert.Subset(t, sprung, []string{
		"core.fsmonitor", "core.editor", "core.sshCommand", "diff.external", "diff.trap.command", "diff.trap.textconv",
		"filter.trap.clean", "filter.other.process", "gpg.program", "alias.trap", "nested.core.fsmonitor", "module.filter.trap.clean",
		"hook.pre-commit", "hook.commit-msg", "hook.post-commit", "hook.post-index-change", "hook.prepare-commit-msg", "hook.reference-transaction",
	})
}
