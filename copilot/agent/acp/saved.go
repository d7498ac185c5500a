package acp

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/atomicfile"
)

// savedSessions is a directory that keeps which conversation of the agent belongs to which session: agents choose the ids of
// their conversations themselves. Each session has a file with its name.
type savedSessions struct{ directory string }

// file returns the file of a session. Names of sessions have no separators.
func (s savedSessions) file(session string) string {
	return filepath.Join(s.directory, "sessions", filepath.Base(session))
}

// find returns the id of a session's conversation; "" if there is none.
func (s savedSessions) find(session string) (string, error) {
	b, err := os.ReadFile(s.file(session))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// keep stores the id of a session's conversation, also if the portal is killed.
func (s savedSessions) keep(session, id string) error {
	return replace(s.file(session), []byte(id))
}

func (s savedSessions) forget(session string) error {
	err := os.Remove(s.file(session))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s savedSessions) modelFile() string { return filepath.Join(s.directory, "models.json") }

// models returns the stored models; nil if there are none.
func (s savedSessions) models() (list []agent.Model) {
	b, err := os.ReadFile(s.modelFile())
	if err != nil || json.Unmarshal(b, &list) != nil {
		return nil // they are learned again
	}
	return list
}

// keepModels stores models for the next portal.
func (s savedSessions) keepModels(list []agent.Model, log *slog.Logger) {
	b, err := json.Marshal(list)
	if err == nil {
		err = replace(s.modelFile(), b)
	}
	if err != nil {
		log.Warn("the models of an agent were not stored", "err", err)
	}
}

// secret returns a random text that stays the same.
func (s savedSessions) secret() (string, error) {
	file := filepath.Join(s.directory, "secret")
	b, err := os.ReadFile(file) //nolint:gosec // in the portal's own directory
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return string(b), err
	}
	text := rand.Text()
	return text, replace(file, []byte(text))
}

// replace replaces a file of the directory, which it creates if necessary.
func replace(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(name, content)
}
