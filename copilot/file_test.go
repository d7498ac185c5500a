package copilot_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/copilot/workspace"
)

// sessionIn starts a session in a directory, without an agent.
func sessionIn(t *testing.T, directory string) *copilot.Session {
	t.Helper()
	host := copilot.NewHost(copilot.Options{})
	t.Cleanup(func() { host.Close(context.Background()) })
	s, err := host.Start(t.Context(), copilot.Start{Directory: directory, WithoutAgent: true})
	require.NoError(t, err)
	return s
}

func TestCredentialsAreMaskedInFiles(t *testing.T) {
	key := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n", 300)
	text := "token: " + token + "\n-----BEGIN PRIVATE KEY-----\n" + key + "-----END PRIVATE KEY-----\n" +
		strings.Repeat("x", 3990) + " " + token + "\n"
	synctest.Test(t, func(t *testing.T) {
		work := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(work, "secrets"), []byte(text), 0o600))
		s := sessionIn(t, work)

		f, err := s.ReadFile("secrets", 0, 0)
		require.NoError(t, err)
		require.Equal(t, 304, f.Count)
		require.Len(t, f.Lines, 304, "each line stays a line")
		assert.Equal(t, "token: ghp_"+secret.Marker, f.Lines[0].Text)
		assert.Equal(t, secret.Marker, f.Lines[2].Text)
		assert.Equal(t, "-----END PRIVATE KEY-----", f.Lines[302].Text)
		assert.NotContains(t, f.Lines[303].Text, "16C7", "the credential is recognized beyond the end of the shown part")

		f, err = s.ReadFile("secrets", 290, 3) // within the key
		require.NoError(t, err)
		for _, l := range f.Lines {
			assert.Equal(t, secret.Marker, l.Text)
		}
		assert.Equal(t, []string{"secrets"}, s.FindFiles([]string{"secrets", "../secrets"}))
	})
}

func TestKeysWithinCommentsAreMaskedInFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := t.TempDir()
		s := sessionIn(t, work)
		for _, before := range []string{"", "# ", "// ", " * ", "> ", "| ", "- ", "12: ", "  7\t", `"`, "#"} {
			text := before + "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(before+"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n", 20) + before + "-----END PRIVATE KEY-----\n" +
				"if err := parse(key); err != nil {\n"
			require.NoError(t, os.WriteFile(filepath.Join(work, "f"), []byte(text), 0o600))
			f, err := s.ReadFile("f", 0, 0)
			require.NoError(t, err)
			for _, l := range f.Lines {
				assert.NotContains(t, l.Text, "MIIE", before)
			}
			assert.Equal(t, "if err := parse(key); err != nil {", f.Lines[len(f.Lines)-1].Text)
		}
	})
}

func TestTextReadForRecognitionIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := t.TempDir()
		s := sessionIn(t, work)
		long := "eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("eyJzdWIi", 85) + ".c2lnbmF0dXJl " // is masked, which makes room
		for cut := range len(token) {
			text := long + strings.Repeat("x", workspace.MaxLine+512-len(long)-cut-1) + " " + token + strings.Repeat(" y", 100) + "\n"
			require.NoError(t, os.WriteFile(filepath.Join(work, "f"), []byte(text), 0o600))
			f, err := s.ReadFile("f", 0, 0)
			require.NoError(t, err)
			assert.NotContains(t, f.Lines[0].Text, token[:8], cut)
		}
	})
}
