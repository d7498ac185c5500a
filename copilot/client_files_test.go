package copilot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/permission"
)

// clientFiles is a client with files; it records what it is asked for.
type clientFiles struct {
	texts map[string]string
	asked []string
}

func (c *clientFiles) offer() agent.Files {
	return agent.Files{
		Read: func(_ context.Context, path string) (string, error) {
			c.asked = append(c.asked, path)
			if text, ok := c.texts[path]; ok {
				return text, nil
			}
			return "", errors.New("not open")
		},
		Write: func(_ context.Context, path, text string) error {
			c.texts[path] = text
			return nil
		},
	}
}

// openBuffer runs a session whose agent opens a buffer.
func (w *world) openBuffer(s *copilot.Session, path string) (b agent.Buffer, ok bool) {
	w.t.Helper()
	b, ok = agent.Buffer{}, false
	w.agents.Script = func(t *fake.Turn) {
		if t.Opening.Buffer != nil {
			b, ok = t.Opening.Buffer(context.Background(), path)
		}
	}
	w.prompt(s, "open "+path)
	wait(time.Minute)
	return b, ok
}

func TestFilesOfTheClientThatCameFirstAreUsed(t *testing.T) {
	inWorld(t, "until it leaves", copilot.Options{}, func(w *world) {
		s, file := w.start(), filepath.Join(w.directory, "a.txt")
		_, ok := w.openBuffer(s, file)
		assert.False(w.t, ok, "nobody is there")
		without, first, second := &clientFiles{}, &clientFiles{texts: map[string]string{file: "first"}}, &clientFiles{texts: map[string]string{file: "second"}}
		w.host.AttachFiles(s.ID(), without.offer())
		leave := w.host.AttachFiles(s.ID(), first.offer())
		w.host.AttachFiles(s.ID(), second.offer())
		b, ok := w.openBuffer(s, "a.txt")
		require.True(w.t, ok)
		assert.Equal(w.t, "first", b.Text)
		require.NoError(w.t, b.Write(w.t.Context(), "written"))
		assert.Equal(w.t, "written", first.texts[file])
		assert.Equal(w.t, "second", second.texts[file])
		leave()
		b, _ = w.openBuffer(s, file)
		assert.Equal(w.t, "second", b.Text)
	})
}

func TestAgentLooksForFilesOnlyIfAClientHasThem(t *testing.T) {
	inWorld(t, "from the next prompt on", copilot.Options{}, func(w *world) {
		s := w.start()
		w.prompt(s, "a")
		wait(time.Minute)
		w.host.AttachFiles(s.ID(), (&clientFiles{}).offer())
		w.prompt(s, "b")
		w.prompt(s, "c")
		wait(time.Minute)
		with, err := w.host.Start(w.t.Context(), copilot.Start{Origin: "test", Directory: w.directory, Files: true})
		require.NoError(w.t, err)
		w.sessions = append(w.sessions, with)
		var looks []bool
		for _, c := range w.agents.Calls(fake.Open) {
			looks = append(looks, c.Opening.Buffer != nil)
		}
		assert.Equal(w.t, []bool{false, true, true}, looks)
	})
}

func TestClientThatDoesNotAnswerIsLeftOut(t *testing.T) {
	inWorld(t, "for a minute", copilot.Options{}, func(w *world) {
		s, asked := w.start(), 0
		w.host.AttachFiles(s.ID(), agent.Files{Read: func(ctx context.Context, _ string) (string, error) {
			asked++
			<-ctx.Done()
			return "", ctx.Err()
		}})
		var took []time.Duration
		w.agents.Script = func(t *fake.Turn) {
			for range 2 {
				began := time.Now()
				_, ok := t.Opening.Buffer(context.Background(), "a.txt")
				took = append(took, time.Since(began))
				assert.False(w.t, ok)
			}
		}
		w.prompt(s, "open")
		wait(2 * time.Minute)
		assert.Equal(w.t, []time.Duration{10 * time.Second, 0}, took)
		w.prompt(s, "open")
		wait(2 * time.Minute)
		assert.Equal(w.t, 2, asked)
	})
}

func TestClientsAreAskedOnlyForReadableFilesOfTheDirectory(t *testing.T) {
	inWorld(t, "with links followed", copilot.Options{}, func(w *world) {
		outside := w.t.TempDir()
		require.NoError(w.t, os.WriteFile(filepath.Join(outside, "b.txt"), nil, 0o600))
		require.NoError(w.t, os.Mkdir(filepath.Join(w.directory, "sub"), 0o700))
		for name, to := range map[string]string{"link.txt": filepath.Join(outside, "b.txt"), "linked": outside, "dangling": filepath.Join(outside, "none"), "inside": "sub"} {
			require.NoError(w.t, os.Symlink(to, filepath.Join(w.directory, name)))
		}
		s := w.startWith(permission.Policy{"fs.read(" + w.directory + "/secret/**)": permission.Deny})
		c := &clientFiles{}
		w.host.AttachFiles(s.ID(), c.offer())
		for _, path := range []string{
			filepath.Join(outside, "b.txt"), "../b.txt", "link.txt", "linked/b.txt", "linked/../x", "dangling", "secret/key", filepath.Join(w.directory, "secret", "key"), "/etc/passwd",
		} {
			_, ok := w.openBuffer(s, path)
			assert.False(w.t, ok, path)
			assert.Empty(w.t, c.asked, path)
		}
		w.openBuffer(s, "inside/c.txt")
		assert.Equal(w.t, []string{filepath.Join(w.directory, "sub", "c.txt")}, c.asked)
	})
}

func TestClientsKnowFilesByTheirDirectory(t *testing.T) {
	inWorld(t, "which may be a link", copilot.Options{}, func(w *world) {
		linked := filepath.Join(w.t.TempDir(), "project")
		require.NoError(w.t, os.Symlink(w.directory, linked))
		s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: linked})
		require.NoError(w.t, err)
		w.sessions = append(w.sessions, s)
		c := &clientFiles{}
		w.host.AttachFiles(s.ID(), c.offer())
		w.openBuffer(s, filepath.Join(linked, "a.txt"))
		w.openBuffer(s, filepath.Join(w.directory, "a.txt"))
		assert.Equal(w.t, []string{filepath.Join(linked, "a.txt"), filepath.Join(linked, "a.txt")}, c.asked)
	})
}
