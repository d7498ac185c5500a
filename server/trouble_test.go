package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// storageOf returns the state of the storage in GET /health.
func storageOf(t *testing.T, p *portaltest.Portal) (health struct{ State, Message string }) {
	t.Helper()
	_, answer := p.Do("GET", "/health", "")
	require.NoError(t, json.Unmarshal([]byte(answer), &struct{ Storage any }{&health}), answer)
	return health
}

// assertWorks checks that sessions start, answer and are listed.
func assertWorks(t *testing.T, p *portaltest.Portal) (id string) {
	t.Helper()
	id = p.StartSession(t.TempDir(), "")
	assert.Equal(t, "well", portaltest.Answer(p.Run(id, "say `well`")))
	assert.Equal(t, "idle", state(p, id))
	return id
}

func TestEphemeralPortalWritesNoFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--ephemeral", "--data-dir", dir}})
	id := assertWorks(t, p)
	assert.Equal(t, "ephemeral", storageOf(t, p).State)
	p.Stop()
	assert.NoDirExists(t, dir)
	assert.NoDirExists(t, p.DataDir())
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.Restart().Live(id))
}

func TestUnwritableStoreWorksFromMemory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sessions.db"), 0o700), "a directory in place of the file; see store.TestFailedOpenIsExplained")
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--data-dir", dir}})
	assertWorks(t, p)
	health := storageOf(t, p)
	assert.Equal(t, "read-only", health.State)
	assert.Contains(t, health.Message, "use another data directory")
	assert.Contains(t, p.Stderr(), "sessions are not stored")
}

func TestEventsDuringLockAreStoredLater(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := assertWorks(t, p)
	conn := database(t, p.DataDir())
	require.Eventually(t, func() bool { // the portal may be writing
		_, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		return err == nil
	}, soon, tick)
	assert.Equal(t, "kept in mind", portaltest.Answer(p.Run(id, "say `kept in mind`")))
	require.Eventually(t, func() bool { return storageOf(t, p).State == "locked" }, 2*soon, tick)
	_, err := conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return storageOf(t, p).State == "ok" }, 2*soon, tick)
	require.Eventually(t, func() bool { return stored(t, p) }, soon, tick)
	p.Kill()
	p = p.Restart()
	assert.Contains(t, strings.Join(lines(t, p, id), "\n"), "kept in mind")
}

// stored reports whether a portal has stored all events of its only session.
func stored(t *testing.T, p *portaltest.Portal) bool {
	t.Helper()
	var found int
	err := database(t, p.DataDir()).QueryRowContext(t.Context(), "SELECT count(*) FROM text WHERE body LIKE '%kept in mind%'").Scan(&found)
	require.NoError(t, err)
	return found > 1 // the prompt and the answer
}

func TestDamagedFileIsMovedAsideAndReplaced(t *testing.T) {
	t.Parallel()
	first := portaltest.Start(t, portaltest.Options{})
	old := assertWorks(t, first)
	first.Stop()
	path := filepath.Join(first.DataDir(), "sessions.db")
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	file = overwrite(file, 4096, len(file)-4096) // see also store.TestDamagedFileIsMovedAside
	require.NoError(t, os.WriteFile(path, file, 0o600))

	p := first.Restart()
	id := assertWorks(t, p)
	health := storageOf(t, p)
	assert.Equal(t, "corrupt", health.State)
	assert.Contains(t, health.Message, "was damaged; it was kept as")
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.Live(old))
	moved, err := filepath.Glob(path + ".damaged-*")
	require.NoError(t, err)
	assert.NotEmpty(t, moved)
	p.Stop()
	p = p.Restart()
	assert.Equal(t, "ok", storageOf(t, p).State)
	assert.Contains(t, strings.Join(lines(t, p, id), "\n"), "well")
}

func overwrite(b []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		b[i] = byte(i * 7)
	}
	return b
}

func TestDamagedHistoryIsAGap(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id, sound := assertWorks(t, p), assertWorks(t, p)
	p.Stop()
	_, err := database(t, p.DataDir()).ExecContext(t.Context(),
		"UPDATE segment SET data = zeroblob(length(data)) WHERE session = (SELECT key FROM session WHERE id = ?)", id)
	require.NoError(t, err)
	p = p.Restart()
	for path, gap := range map[string]string{"/live": "gap", "/export?format=jsonl": `"type":"gap"`, "/export": "the record has a gap"} {
		status, answer := p.Do("GET", "/api/copilot/session/"+id+path, "")
		assert.Equal(t, http.StatusOK, status, path)
		assert.Contains(t, answer, gap, path)
	}
	assert.Contains(t, portaltest.Answer(p.Run(id, "recall")), "well", "the agent has its own copy")
	assert.Contains(t, portaltest.Answer(goOn(t, p, sound, "recall")), "well")
}

func TestPortalSurvivesRemovedDataDirectory(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := assertWorks(t, p)
	settle()
	require.Eventually(t, func() bool { return os.RemoveAll(p.DataDir()) == nil }, soon, tick) // the portal may write a file meanwhile
	assert.Equal(t, "the second", portaltest.Answer(p.Run(id, "say `the second`")))
	other := assertWorks(t, p)
	require.Eventually(t, func() bool { return storageOf(t, p).State == "replaced" }, soon, tick)
	p.Stop()
	require.FileExists(t, filepath.Join(p.DataDir(), "sessions.db"))
	p = p.Restart()
	assert.Equal(t, "idle", state(p, other))
	assert.Contains(t, strings.Join(lines(t, p, id), "\n"), "the second")
	status, answer := query(p, id, "recall")
	assert.Equal(t, 200, status, answer)
}
