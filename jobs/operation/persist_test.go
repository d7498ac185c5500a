package operation_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/operation"
)

// git runs git in the project.
func (m *machine) git(args ...string) string {
	m.t.Helper()
	c := exec.Command("git", append([]string{"-C", m.project}, args...)...)
	out, err := c.CombinedOutput()
	require.NoError(m.t, err, "git %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// repository turns the project into a repository with one commit.
func (m *machine) repository() {
	m.git("init", "--quiet")
	for key, value := range map[string]string{"user.name": "Ada", "user.email": "ada@example.com", "commit.gpgsign": "false"} {
		m.git("config", key, value)
	}
	m.file("spec.md", "# Spec\n")
	m.git("add", ".")
	m.git("commit", "--quiet", "-m", "first")
}

func (m *machine) read(path string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.project, path))
	require.NoError(m.t, err)
	return string(text)
}

func persisted(t *testing.T, o *operation.Operation) (path, commit string) {
	t.Helper()
	var result struct {
		Title     string
		Persisted struct{ Path, Commit string }
	}
	require.NoError(t, json.Unmarshal(o.Info().Result, &result))
	assert.Equal(t, "The plan", result.Title)
	return result.Persisted.Path, result.Persisted.Commit
}

func TestResultIsWrittenBeforeComplete(t *testing.T) {
	for path, want := range map[string]string{
		"plan.md":                "# Plan\n\nDo it.",
		"specs/003/new/plan.md":  "# Plan\n\nDo it.",
		"plan.JSON":              "\"title\": \"The plan\"",
		"old.md":                 "# Plan\n\nDo it.",
		"link.md":                "# Plan\n\nDo it.",
		"linked/plan.md":         "# Plan\n\nDo it.",
		"docs/../docs/./plan.md": "# Plan\n\nDo it.",
	} {
		t.Run(path, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.file("old.md", "old")
				p.file("docs/old.md", "old")
				require.NoError(t, os.Chmod(filepath.Join(p.project, "old.md"), 0o640))
				require.NoError(t, os.Symlink(filepath.Join(p.project, "docs", "old.md"), filepath.Join(p.project, "link.md")))
				require.NoError(t, os.Symlink("docs", filepath.Join(p.project, "linked")))
				p.agents.Script = reports("report_plan", aPlan)
				o := p.start(operation.Request{Type: operation.Plan, Persist: &operation.Persist{Path: path}})
				for after := -1; ; {
					list, err := o.Next(context.Background(), after, 1)
					require.NoError(t, err)
					after = list[0].Sequence
					if list[0].Type == operation.Complete {
						break
					}
				}
				assert.Contains(t, p.read(path), want)
				all(p.t, o)
				place, commit := persisted(p.t, o)
				assert.FileExists(t, filepath.Join(p.project, place))
				assert.Empty(t, commit)
				info, err := os.Lstat(filepath.Join(p.project, "link.md"))
				require.NoError(t, err)
				assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link is kept")
				info, err = os.Lstat(filepath.Join(p.project, "old.md"))
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
				left, err := filepath.Glob(filepath.Join(p.project, "*", ".portal-*"))
				require.NoError(t, err)
				assert.Empty(t, left)
			})
		})
	}
}

func TestOnlyPersistedFileIsCommitted(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.repository()
		p.file("staged.txt", "x")
		p.git("add", "staged.txt")
		p.file(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
		require.NoError(t, os.Chmod(filepath.Join(p.project, ".git/hooks/pre-commit"), 0o755)) // it must not run
		p.file("spec.md", "# Changed\n")
		p.agents.Script = reports("report_plan", aPlan)
		r := operation.Request{Type: operation.Plan, Feature: "003-fast", Document: "x", Persist: &operation.Persist{Path: "p/*.md", Commit: true}}
		o, list := p.do(r)
		place, commit := persisted(p.t, o)
		assert.Equal(t, "p/*.md", place)
		assert.Equal(t, p.git("rev-parse", "HEAD"), commit)
		assert.Equal(t, "p/*.md", p.git("show", "--name-only", "--format=", "HEAD"))
		assert.Equal(t, "Result of plan for 003-fast", p.git("show", "-s", "--format=%s", "HEAD"))
		assert.Equal(t, "M spec.md\nA  staged.txt", strings.ReplaceAll(p.git("status", "--porcelain"), " M", "M"))
		last := list[len(list)-1].Content
		assert.Contains(t, last, "The result is saved in `p/*.md` and committed as "+commit[:10]+".")

		again, _ := p.do(r)
		_, second := persisted(p.t, again)
		assert.Equal(t, commit, second, "without changes, no second commit")

		r.Persist.Message = "--amend is not an option"
		p.agents.Script = reports("report_plan", strings.ReplaceAll(aPlan, "Do it", "Do it well"))
		p.do(r)
		assert.Equal(t, "--amend is not an option", p.git("show", "-s", "--format=%s", "HEAD"))
		assert.Equal(t, "3", p.git("rev-list", "--count", "HEAD"))
	})
}

func TestFailedPersistIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		persist operation.Persist
		prepare func(*portal)
		why     string
		end     string
	}{
		"a directory is in place of the file": {
			operation.Persist{Path: "plan.md"},
			func(p *portal) { p.file("plan.md/x", "x") },
			"the path exists and is not a regular file", "No changes persisted.",
		},
		"a file is in place of a directory": {
			operation.Persist{Path: "specs/plan.md"},
			func(p *portal) { p.file("specs", "x") },
			"", "No changes persisted.",
		},
		"the path leads outside": {
			operation.Persist{Path: "specs/plan.md"},
			func(p *portal) {
				require.NoError(p.t, os.Symlink(p.data, filepath.Join(p.project, "specs")))
			},
			"the path must be that of a file below the working directory", "No changes persisted.",
		},
		"there is no repository": {
			operation.Persist{Path: "plan.md", Commit: true},
			func(*portal) {},
			"there is no git repository that can be used: fatal: not a git repository", "The result is saved in `plan.md`, but not committed.",
		},
		"git rejects the file": {
			operation.Persist{Path: "plan.md", Commit: true},
			func(p *portal) {
				p.repository()
				p.file(".git/info/attributes", "*.md filter=ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3\n")
			},
			`git: the file has the filter "ghp_…masked", which the portal does not run`, "The result is saved in `plan.md`, but not committed.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.agents.Script = reports("report_plan", aPlan, func(*fake.Turn) { test.prepare(p) })
				o, list := p.do(operation.Request{Type: operation.Plan, Persist: &test.persist})
				last := story(list[len(list)-2:])
				assert.True(t, strings.HasPrefix(last[0], "error: Internal server error: Failed to persist the result: "+test.why), last[0])
				assert.True(t, strings.HasSuffix(last[0], ". Please try again or contact support."), last[0])
				assert.Equal(t, "complete: Operation failed. "+test.end, last[1])
				assert.Equal(t, operation.Failed, o.Info().Status)
				assert.NotContains(t, last[0], "plan.md", "other clients do not see the requested path")
				if name == "git rejects the file" {
					assert.Equal(t, "?? plan.md", p.git("status", "--porcelain"), "nothing is staged")
				}
			})
		})
	}
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	type r = operation.Request
	git := filepath.Join(t.TempDir(), ".git")
	require.NoError(t, os.Mkdir(git, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(git, "config"), []byte("x"), 0o600))
	persist := func(p operation.Persist) r { return r{Type: operation.Plan, Document: "x", Persist: &p} }
	for name, test := range map[string]struct {
		request r
		kind    fault.Kind
	}{
		"no type":                                   {r{Document: "x"}, fault.Invalid},
		"another type":                              {r{Type: "review", Document: "x"}, fault.Invalid},
		"no document":                               {r{Type: operation.Clarify}, fault.Invalid},
		"a blank document":                          {r{Type: operation.Clarify, Document: " \n"}, fault.Invalid},
		"a document that is too long":               {r{Type: operation.Clarify, Document: strings.Repeat("x", 1<<20+1)}, fault.Invalid},
		"a file that is too long":                   {r{Type: operation.Clarify, Path: "long.md"}, fault.Invalid},
		"a document that is not text":               {r{Type: operation.Clarify, Document: "\xff"}, fault.Invalid},
		"a prompt that is not text":                 {r{Type: operation.Prompt, Prompt: "\xff"}, fault.Invalid},
		"no prompt":                                 {r{Type: operation.Prompt, Document: "x"}, fault.Invalid},
		"a missing file":                            {r{Type: operation.Clarify, Path: "none.md"}, fault.NotFound},
		"a file below a missing directory":          {r{Type: operation.Clarify, Path: "none/none.md"}, fault.NotFound},
		"a directory":                               {r{Type: operation.Clarify, Path: "specs"}, fault.Invalid},
		"a file elsewhere":                          {r{Type: operation.Clarify, Path: "../x"}, fault.Invalid},
		"an absolute file elsewhere":                {r{Type: operation.Clarify, Path: "/etc/passwd"}, fault.Invalid},
		"a link that leads elsewhere":               {r{Type: operation.Clarify, Path: "out/passwd"}, fault.Invalid},
		"a link to nowhere":                         {r{Type: operation.Clarify, Path: "nowhere"}, fault.Invalid},
		"a file of git":                             {r{Type: operation.Clarify, Path: ".git/config"}, fault.Invalid},
		"a file with a zero byte":                   {r{Type: operation.Clarify, Path: "a\x00"}, fault.Invalid},
		"a feature without a document":              {r{Type: operation.Clarify, Feature: "009"}, fault.NotFound},
		"an invalid feature name":                   {r{Type: operation.Clarify, Feature: "../003", Document: "x"}, fault.Invalid},
		"a directory that is not absolute":          {r{Type: operation.Clarify, Document: "x", Directory: "x"}, fault.Invalid},
		"a missing directory":                       {r{Type: operation.Clarify, Document: "x", Directory: "/none"}, fault.Invalid},
		"persist without a path":                    {persist(operation.Persist{}), fault.Invalid},
		"persist elsewhere":                         {persist(operation.Persist{Path: "../x"}), fault.Invalid},
		"persist below a link that leads elsewhere": {persist(operation.Persist{Path: "out/x"}), fault.Invalid},
		"persist to nowhere":                        {persist(operation.Persist{Path: "nowhere"}), fault.Invalid},
		"persist to the directory":                  {persist(operation.Persist{Path: "."}), fault.Invalid},
		"persist into git":                          {persist(operation.Persist{Path: "sub/.Git/hooks/x"}), fault.Invalid},
		"a file in the directory of git":            {r{Type: operation.Clarify, Path: "config", Directory: git}, fault.Invalid},
		"persist in the directory of git":           {r{Type: operation.Plan, Document: "x", Directory: git, Persist: &operation.Persist{Path: "hooks/x"}}, fault.Invalid},
		"persist into git, as NTFS reads it":        {persist(operation.Persist{Path: ".git./config"}), fault.Invalid},
		"persist into git by its short name":        {persist(operation.Persist{Path: "sub/GIT~1/config"}), fault.Invalid},
		"persist into git as a stream":              {persist(operation.Persist{Path: ".git::$INDEX_ALLOCATION/config"}), fault.Invalid},
		"message requires commit":                   {persist(operation.Persist{Path: "x", Message: "x"}), fault.Invalid},
		"a message with a zero byte":                {persist(operation.Persist{Path: "x", Commit: true, Message: "\x00"}), fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.file("specs/003/spec.md", "x")
				p.file("long.md", strings.Repeat("x", 1<<20+1))
				require.NoError(t, os.Symlink("/etc", filepath.Join(p.project, "out")))
				require.NoError(t, os.Symlink("none", filepath.Join(p.project, "nowhere")))
				_, err := p.host.Start(context.Background(), test.request)
				assert.Equal(t, test.kind, fault.KindOf(err), "%v", err)
				list, err := p.host.List(context.Background(), 0)
				require.NoError(t, err)
				assert.Empty(t, list)
				assert.Empty(t, p.agents.Calls())
			})
		})
	}
}

func TestDocumentOfFeatureIsFound(t *testing.T) {
	for _, test := range []struct {
		of   operation.Type
		path string
	}{
		{operation.Clarify, "specs/003/spec.md"}, {operation.Plan, "specs/003/spec.md"}, {operation.Analyze, "specs/003/tasks.md"},
	} {
		of, path := test.of, test.path
		inMemory(t, func(p *portal) {
			p.file("specs/003/spec.md", "The text of specs/003/spec.md.")
			p.file("specs/003/tasks.md", "The text of specs/003/tasks.md.")
			p.do(operation.Request{Type: of, Feature: "003"})
			assert.Contains(t, p.sends()[0], "The text of "+path+".")
			p.do(operation.Request{Type: of, Feature: "003", Document: "Another."})
			assert.NotContains(t, p.sends()[2], "The text of")
			p.do(operation.Request{Type: of, Path: filepath.Join(p.project, path)})
			assert.Contains(t, p.sends()[4], "The text of "+path+".")
			time.Sleep(time.Second)
		})
	}
}
