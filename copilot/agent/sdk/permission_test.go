package sdk_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestPermissionsAreDescribed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	for name, tc := range map[string]struct {
		request string
		want    event.Question
	}{
		"a command": {
			`{"kind":"shell","toolCallId":"c","intention":"List files","fullCommandText":"ls -l","commandSegments":[{"fullCommandText":"ls -l","identifier":"ls"}]}`,
			event.Question{Names: []string{"exec.run"}, Call: "c", Title: "List files", Detail: "ls -l"},
		},
		"a command without an intention": {
			`{"kind":"shell","fullCommandText":"ls","commandSegments":[{"fullCommandText":"ls"}]}`,
			event.Question{Names: []string{"exec.run"}, Title: "Run a command", Detail: "ls"},
		},
		"several commands of git": {
			`{"kind":"shell","fullCommandText":"git add . && git commit -m x && git push -f","commandSegments":[
				{"fullCommandText":"git add ."},{"fullCommandText":"git commit -m x"},{"fullCommandText":"git push -f"}]}`,
			event.Question{
				Names: []string{"exec.run", "git.commit", "git.forcePush"},
				Title: "Run a command", Detail: "git add . && git commit -m x && git push -f",
			},
		},
		"a command that runs text": {
			`{"kind":"shell","fullCommandText":"eval $X","commandSegments":[{"fullCommandText":"eval $X"}]}`,
			event.Question{Names: []string{"exec.run"}, Opaque: true, Title: "Run a command", Detail: "eval $X"},
		},
		"a command that the CLI could not split": {
			`{"kind":"shell","fullCommandText":"git push -f"}`,
			event.Question{Names: []string{"git.forcePush"}, Title: "Run a command", Detail: "git push -f"},
		},
		"arguments after a redirection, which the CLI drops": {
			`{"kind":"shell","fullCommandText":"git push > log -f","commandSegments":[{"fullCommandText":"git push"}]}`,
			event.Question{Names: []string{"git.push", "git.forcePush", "fs.write"}, Title: "Run a command", Detail: "git push > log -f"},
		},
		"a command without details": {
			`{"kind":"shell"}`,
			event.Question{Names: []string{"exec.run"}, Opaque: true, Title: "Run a command"},
		},
		"writing a file": {
			`{"kind":"write","toolCallId":"c","fileName":"/w/a.txt","diff":"+x"}`,
			event.Question{Names: []string{"fs.write"}, Call: "c", Title: "Write /w/a.txt", Detail: "+x"},
		},
		"reading a file": {
			`{"kind":"read","toolCallId":"c","path":"a.txt","resolvedPath":"/w/a.txt"}`,
			event.Question{Names: []string{"fs.read"}, Call: "c", Title: "Read a.txt", Detail: "a.txt", Path: "/w/a.txt"},
		},
		"reading a link that the CLI has followed": {
			`{"kind":"read","path":"/w/a.txt","resolvedPath":"/etc/passwd"}`,
			event.Question{Names: []string{"fs.read"}, Title: "Read /w/a.txt", Detail: "/w/a.txt", Path: "/etc/passwd"},
		},
		"reading a link that the CLI has not followed": {
			`{"kind":"read","path":"DIR/link"}`,
			event.Question{Names: []string{"fs.read"}, Title: "Read DIR/link", Detail: "DIR/link", Path: outside},
		},
		"reading a link by a relative path": {
			`{"kind":"read","path":"./link"}`,
			event.Question{Names: []string{"fs.read"}, Title: "Read ./link", Detail: "./link", Path: outside},
		},
		"reading a missing file below a link": {
			`{"kind":"read","path":"link/x/y"}`,
			event.Question{Names: []string{"fs.read"}, Title: "Read link/x/y", Detail: "link/x/y", Path: outside + "/x/y"},
		},
		"reading a missing file": {
			`{"kind":"read","path":"x"}`,
			event.Question{Names: []string{"fs.read"}, Title: "Read x", Detail: "x", Path: "DIR/x"},
		},
		"reading above the directory": {
			`{"kind":"read","path":"../x"}`,
			event.Question{Names: []string{"fs.read"}, Title: "Read ../x", Detail: "../x", Path: filepath.Dir(dir) + "/x"},
		},
		"reading above a link, which is ambiguous": {
			`{"kind":"read","path":"link/../../x"}`,
			event.Question{Names: []string{"fs.read"}, Title: "Read link/../../x", Detail: "link/../../x"},
		},
		"reading an invalid path": {
			`{"kind":"read","path":"` + strings.Repeat("x/", 100_000) + `"}`,
			event.Question{
				Names: []string{"fs.read"}, Title: "Read " + strings.Repeat("x/", 100_000),
				Detail: strings.Repeat("x/", 100_000), Path: "DIR" + strings.Repeat("/x", 100_000),
			},
		},
		"fetching a page": {
			`{"kind":"url","toolCallId":"c","url":"https://x.example/"}`,
			event.Question{Names: []string{"net.fetch"}, Call: "c", Title: "Fetch https://x.example/", Detail: "https://x.example/"},
		},
		"a tool of a server": {
			`{"kind":"mcp","toolCallId":"c","serverName":"db","toolName":"query","toolTitle":"Query","args":{"a":1}}`,
			event.Question{Names: []string{"mcp.db.query"}, Call: "c", Title: "Use Query of db", Detail: "{\n  \"a\": 1\n}"},
		},
		"a tool of a server without a title": {
			`{"kind":"mcp","serverName":"db","toolName":"query"}`,
			event.Question{Names: []string{"mcp.db.query"}, Title: "Use query of db"},
		},
		"a tool of a client": {
			`{"kind":"custom-tool","toolCallId":"c","toolName":"openFile","args":{"a":1}}`,
			event.Question{Names: []string{"openFile"}, Call: "c", Title: "Use openFile", Detail: "{\n  \"a\": 1\n}"},
		},
		"an unknown kind": {
			`{"kind":"teleport","to":"moon"}`,
			event.Question{Names: []string{"teleport"}, Title: "Allow teleport", Detail: "{\n  \"kind\": \"teleport\",\n  \"to\": \"moon\"\n}"},
		},
		"nothing": {
			`null`,
			event.Question{Names: []string{"something unknown"}, Title: "Allow something unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
			tc.want.Title, tc.want.Detail, tc.want.Path = in(tc.want.Title), in(tc.want.Detail), in(tc.want.Path)
			got := sdk.NewTranslator(dir).Event(vendorEvent(t, "permission.requested", `{"requestId":"q","permissionRequest":`+in(tc.request)+`}`))
			require.Len(t, got, 1)
			tc.want.ID, tc.want.Kind = "q", event.AskPermission
			assert.Equal(t, tc.want, withoutNeeds(got[0]))
		})
	}
}

// withoutNeeds returns the question of a body without the targets of its needs.
func withoutNeeds(b event.Body) event.Question {
	asked, _ := b.(event.QuestionAsked)
	asked.Question.Needs = nil
	return asked.Question
}

func TestRedirectionsNameWrittenFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	require.NoError(t, os.Symlink(home, filepath.Join(dir, "link")))
	for command, want := range map[string]string{
		"ls > a":          dir + "/a",
		"ls > sub/../a":   dir + "/a",
		"ls > link/a":     home + "/a",
		"ls >> ~/a":       home + "/a",
		"ls > '~/a'":      dir + "/~/a",
		"ls > link/../a":  "",
		"ls > ../a":       filepath.Dir(dir) + "/a",
		"ls > $x":         "",
		"cd $x; ls > a":   "",
		"cd /; ls > /a/b": "/a/b",
	} {
		request, err := json.Marshal(map[string]any{"kind": "shell", "fullCommandText": command})
		require.NoError(t, err)
		got := sdk.NewTranslator(dir).Event(vendorEvent(t, "permission.requested", `{"requestId":"q","permissionRequest":`+string(request)+`}`))
		require.Len(t, got, 1)
		asked, _ := got[0].(event.QuestionAsked)
		assert.Contains(t, asked.Question.Needs, permission.Need{Name: permission.Write, Target: want, Line: command}, "%s", command)
	}
}

func TestPermissionsNameTheirTargets(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink("/", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("/missing/file", filepath.Join(dir, "dangling")))
	for name, tc := range map[string]struct {
		request string
		want    permission.Need
	}{
		"the file that a dangling link creates":   {`{"kind":"write","fileName":"dangling"}`, permission.Need{Name: "fs.write", Target: "/missing/file"}},
		"the file that is read":                   {`{"kind":"read","path":"link/x/../y"}`, permission.Need{Name: "fs.read", Target: "/y"}},
		"the file that is written":                {`{"kind":"write","fileName":"a/../b"}`, permission.Need{Name: "fs.write", Target: "DIR/b"}},
		"the file that is written through a link": {`{"kind":"write","fileName":"DIR/link/new"}`, permission.Need{Name: "fs.write", Target: "/new"}},
		"no file":                     {`{"kind":"write"}`, permission.Need{Name: "fs.write"}},
		"the address that is fetched": {`{"kind":"url","url":"https://Example.org/x"}`, permission.Need{Name: "net.fetch", Target: "https://Example.org/x"}},
		"the tool of a server":        {`{"kind":"mcp","serverName":"db","toolName":"db-query"}`, permission.Need{Name: "mcp.db.query"}},
		"a tool":                      {`{"kind":"custom-tool","toolName":"openFile"}`, permission.Need{Name: "openFile"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := strings.ReplaceAll(tc.request, "DIR", dir)
			got := sdk.NewTranslator(dir).Event(vendorEvent(t, "permission.requested", `{"requestId":"q","permissionRequest":`+request+`}`))
			require.Len(t, got, 1)
			asked, _ := got[0].(event.QuestionAsked)
			tc.want.Target = strings.ReplaceAll(tc.want.Target, "DIR", dir)
			assert.Equal(t, []permission.Need{tc.want}, asked.Question.Needs)
		})
	}
}
