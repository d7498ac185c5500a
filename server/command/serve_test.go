package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/command"
)

func TestWarningNamesAllThatMayDoEverything(t *testing.T) {
	const may = " may do everything that permissions.rules does not restrict. To change this, set permissions."
	const allow, ask = permission.Allow, permission.Ask
	for want, p := range map[string]server.Permissions{
		"Sessions of plain REST scripts, operations, jobs and chats of portal cli" + may + "rest, permissions.operations, permissions.jobs, permissions.cli.": {
			Rest: allow, Operations: allow, Jobs: allow, CLI: allow,
		},
		"Sessions of operations and jobs" + may + "operations, permissions.jobs.": {Rest: ask, Operations: allow, Jobs: allow, CLI: ask},
		"Sessions of jobs" + may + "jobs.":                                        {Rest: ask, Operations: ask, Jobs: allow, CLI: ask},
		"":                                                                        {Rest: ask, Operations: ask, Jobs: ask, CLI: ask},
	} {
		assert.Equal(t, want, command.Unrestricted(p))
	}
}
