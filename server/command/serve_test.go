package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/command"
)

func TestWarningNamesAllThatMayDoEverything(t *testing.T) {
	const may = "Sessions of these may do everything that permissions.rules does not restrict: "
	const allow, ask = permission.Allow, permission.Ask
	for want, p := range map[string]server.Permissions{
		may + "plain REST scripts, operations, jobs, chats of portal cli. To change this, set permissions.rest, permissions.operations, permissions.jobs, permissions.cli.": {
			Rest: allow, Operations: allow, Jobs: allow, CLI: allow,
		},
		may + "jobs. To change this, set permissions.jobs.": {Rest: ask, Operations: ask, Jobs: allow, CLI: ask},
		"": {Rest: ask, Operations: ask, Jobs: ask, CLI: ask},
	} {
		assert.Equal(t, want, command.Unrestricted(p))
	}
}
