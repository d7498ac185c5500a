package permission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/permission"
)

func TestWordsStayWordsInACommandLine(t *testing.T) {
	for want, words := range map[string][]string{
		"ls -l":                 {"ls", "-l"},
		"find . '#' -delete":    {"find", ".", "#", "-delete"},
		"echo 'a; rm b' ''":     {"echo", "a; rm b", ""},
		"git push":              {"/bin/bash", "-lc", "git push"},
		"python3 -c 'print(1)'": {"python3", "-c", "print(1)"},
		"":                      nil,
	} {
		assert.Equal(t, want, permission.CommandLine(words))
	}
}
