package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func TestAddressesOnGitHubAreRead(t *testing.T) {
	for address, want := range map[string]git.Remote{
		"https://github.com/ada/engine.git":       {Name: "x", Owner: "ada", Repo: "engine", URL: "https://github.com/ada/engine.git"},
		"https://github.com/ada/engine":           {Name: "x", Owner: "ada", Repo: "engine", URL: "https://github.com/ada/engine.git"},
		"https://token@github.com/ada/en.gi-ne_/": {Name: "x", Owner: "ada", Repo: "en.gi-ne_", URL: "https://github.com/ada/en.gi-ne_.git"},
		"git@github.com:ada/engine.git":           {Name: "x", Owner: "ada", Repo: "engine", URL: "git@github.com:ada/engine.git"},
		"ssh://git@github.com:22/ada/engine.git":  {Name: "x", Owner: "ada", Repo: "engine", URL: "git@github.com:ada/engine.git"},
	} {
		got, ok := git.ParseRemote("x", address)
		assert.True(t, ok, address)
		assert.Equal(t, want, got)
	}
	for _, address := range []string{
		"", "../engine", "file:///ada/engine", "ext::sh -c touch% x", "https://github.com.example.org/ada/engine", "https://example.org/github.com/ada/engine",
		"https://github.com/ada", "https://github.com/ada/engine/more", "https://github.com/-ada/engine", "https://github.com/ada/..", "https://github.com/ada/$(x)",
		"ssh://-oProxyCommand=x@github.com/ada/engine", "git@github.com:ada/engine.git\nx", "https://github.com@example.org/ada/engine", "http://github.com/ada/engine",
	} {
		_, ok := git.ParseRemote("x", address)
		assert.False(t, ok, "%q", address)
	}
}

// cloned creates a bare repository that stands in for one on GitHub, and returns it.
func cloned(t *testing.T, dir string) (bare string) {
	t.Helper()
	bare = filepath.Join(t.TempDir(), "ada", "engine.git")
	gittest.Run(t, dir, "init", "-q", "--bare", bare)
	gittest.Run(t, dir, "config", "--global", "url."+filepath.Dir(filepath.Dir(bare))+"/.insteadOf", "https://github.com/")
	gittest.Run(t, dir, "config", "remote.origin.url", "https://github.com/ada/engine.git")
	return bare
}

func TestPushRunsNothingThatTheRepositoryDefines(t *testing.T) {
	trap := gittest.NewTrap(t)
	bare := cloned(t, trap.Dir)
	gittest.Run(t, trap.Dir, "config", "url.ext::false.insteadOf", "https://github.com/ada/")
	trap.Reset(t)
	r := open(t, trap.Dir)
	_, err := r.Head(t.Context())
	require.NoError(t, err)
	_, _, err = r.Candidates(t.Context(), []string{"a.txt", "module", "linked/a.txt"})
	require.NoError(t, err)
	remotes, err := r.Remotes(t.Context(), "trunk")
	require.NoError(t, err)
	require.Len(t, remotes, 1)
	require.NoError(t, r.Push(t.Context(), git.PullRequest{From: remotes[0], To: remotes[0], Branch: "topic"}))
	assert.Empty(t, trap.Markers(t))
	assert.Equal(t, gittest.Run(t, bare, "rev-parse", "refs/heads/topic"), gittest.Run(t, trap.Dir, "-c", "core.fsmonitor=", "rev-parse", "HEAD"))
}

func TestPushIsNeverForced(t *testing.T) {
	dir := project(t)
	bare := cloned(t, dir)
	r := open(t, dir)
	remotes, err := r.Remotes(t.Context(), "trunk")
	require.NoError(t, err)
	p := git.PullRequest{From: remotes[0], To: remotes[0], Branch: "topic"}
	require.NoError(t, r.Push(t.Context(), p))
	gittest.Write(t, dir, "a.md", "b\n")
	gittest.Run(t, dir, "commit", "-q", "-a", "--amend", "-m", "other")
	gittest.Run(t, dir, "config", "remote.origin.mirror", "true")
	gittest.Run(t, dir, "config", "remote.origin.push", "+refs/*:refs/*")
	require.ErrorContains(t, open(t, dir).Push(t.Context(), p), "rejected")
	assert.Equal(t, "first", gittest.Run(t, bare, "show", "-s", "--format=%s", "topic"))
	assert.Equal(t, "refs/heads/topic", gittest.Run(t, bare, "for-each-ref", "--format=%(refname)"))
	for _, branch := range []string{"-x", "a..b", "", "HEAD^"} {
		p.Branch = branch
		require.Error(t, r.Push(t.Context(), p), "%q", branch)
	}
}

func TestPullRequestIsCreatedOutsideOfRepository(t *testing.T) {
	dir := project(t)
	home := os.Getenv("HOME")
	gittest.Write(t, home, "bin/gh", "#!/bin/sh\npwd >'"+home+"/where'; git rev-parse --git-dir >>'"+home+"/where' 2>&1\n"+
		"for a; do echo \"<$a>\"; done >'"+home+"/args'\necho Creating >&2; echo https://github.com/up/engine/pull/7\n")
	t.Setenv("PATH", filepath.Join(home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GIT_DIR", filepath.Join(dir, ".git"))
	p := git.PullRequest{
		To: git.Remote{Owner: "up", Repo: "engine"}, From: git.Remote{Owner: "ada", Repo: "engine", URL: "https://github.com/ada/engine.git"},
		Branch: "it's", Base: "main", Title: "--web $(x)", Body: "one\ntwo",
	}
	address, err := open(t, dir).CreatePullRequest(t.Context(), p)
	require.NoError(t, err)
	assert.Equal(t, "https://github.com/up/engine/pull/7", address)
	args, err := os.ReadFile(filepath.Join(home, "args"))
	require.NoError(t, err)
	assert.Equal(t, "<pr>\n<create>\n<--repo>\n<github.com/up/engine>\n<--head>\n<ada:it's>\n<--base>\n<main>\n<--title>\n<--web $(x)>\n<--body-file>\n<->\n", string(args))
	where, err := os.ReadFile(filepath.Join(home, "where"))
	require.NoError(t, err)
	assert.NotContains(t, string(where), dir)
	assert.Contains(t, string(where), "not a git repository")
	assert.Equal(t, []string{
		`git push --no-verify --no-follow-tags --recurse-submodules=no https://github.com/ada/engine.git 'HEAD:refs/heads/it'\''s'`,
		`gh pr create --repo github.com/up/engine --head 'ada:it'\''s' --base main --title '--web $(x)' --body-file -`,
	}, p.Commands())

	gittest.Write(t, home, "bin/gh", "#!/bin/sh\necho 'a pull request exists' >&2; exit 1\n")
	_, err = open(t, dir).CreatePullRequest(t.Context(), p)
	require.EqualError(t, err, "gh: a pull request exists")
}
