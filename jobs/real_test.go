package jobs_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// driver returns the driver of the real CLI, with the scripted model and a separate home directory.
func driver(t *testing.T) *sdk.Driver {
	t.Helper()
	path, err := filepath.Abs("../bin/copilot")
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		path, err = exec.LookPath("copilot")
		require.NoError(t, err, "the Copilot CLI is missing: run make build (make test does it)")
	}
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "COPILOT_HOME="+home)
	if cache, err := os.UserCacheDir(); err == nil {
		env = append(env, "XDG_CACHE_HOME="+cache)
	}
	model := sync.OnceValues(func() (sdk.Provider, error) {
		s, err := demo.Start()
		if err != nil {
			return sdk.Provider{}, err
		}
		t.Cleanup(func() { _ = s.Close() })
		return sdk.Provider{Name: "portal-demo", Type: "openai", BaseURL: s.URL(), APIKey: s.Key(), Models: []string{demo.ModelID}}, nil
	})
	return sdk.New(sdk.Options{
		Locate: sdk.Locate{Configured: path}, Env: env, Demo: model, DemoAlways: true, Log: slog.New(slog.DiscardHandler),
	})
}

// repository creates a git repository with a commit and an untracked file.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("# A project\n"), 0o600))
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "Initial commit"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.md"), []byte("New.\n"), 0o600))
	return dir
}

func TestBuiltInJobsRunOnRealAgent(t *testing.T) {
	d, dir := driver(t), repository(t)
	sessions := copilot.NewHost(copilot.Options{Launch: d.Launch, Health: d.Health, Pool: agent.PoolOptions{StartTimeout: 5 * time.Minute}})
	h := jobs.New(jobs.Options{Sessions: sessions, Book: book.BuiltIn(), Policy: permission.Everywhere(permission.Allow), Directory: dir})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		h.Close(ctx)
		sessions.Close(ctx)
	})
	for _, name := range []string{"understand", "review", "refine", "implement"} {
		t.Run(name, func(t *testing.T) {
			j, err := h.StartJob(t.Context(), jobs.JobRequest{Name: name, Input: "A note about the project"})
			require.NoError(t, err)
			events := all(t, j)
			assert.Equal(t, jobs.Succeeded, j.Info().Status, "%s", story(events))
			assert.NotZero(t, j.Info().Sessions)
		})
	}
}
