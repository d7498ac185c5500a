package sdk_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestDamagedCopyReplacesNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	d := sdk.New(sdk.Options{Env: []string{"COPILOT_HOME=" + home}})
	file := filepath.Join(home, "session-state", "s", "events.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	saved := bytes.Repeat([]byte("{}\n"), 1000)
	require.NoError(t, os.WriteFile(file, saved, 0o600))
	require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(-time.Minute)))
	packed, err := d.Pack(t.Context(), "s")
	require.NoError(t, err)
	for name, damaged := range map[string][]byte{
		"empty":     {},
		"garbage":   []byte("not a copy"),
		"truncated": packed[:len(packed)/2],
		"changed":   append(bytes.Clone(packed[:len(packed)-8]), make([]byte, 8)...),
	} {
		err := d.Unpack(t.Context(), "s", damaged)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), "%s: %v", name, err)
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, saved, kept, name)
	}
	require.NoError(t, d.Unpack(t.Context(), "s", packed))
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, saved, kept)

	full := sdk.New(sdk.Options{Env: []string{"COPILOT_HOME=" + file}})
	err = full.Unpack(t.Context(), "s", packed)
	require.Error(t, err)
	assert.NotEqual(t, fault.Invalid, fault.KindOf(err), "the copy is not to blame")
}
