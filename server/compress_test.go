package server_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

func TestLargeAnswersOfRESTAreCompressedIfAskedFor(t *testing.T) {
	s := inside(t, nil)
	address := "http://" + serve(t, s)
	for range 20 {
		_, err := s.StartSession(t.Context())
		require.NoError(t, err)
	}
	for name, tc := range map[string]struct {
		path, accept string
		zipped       bool
	}{
		"a list":              {"/api/copilot/session", "gzip", true},
		"a list for a script": {"/api/copilot/session", "identity", false},
		"a short answer":      {"/api/copilot/session/unknown/history", "gzip", false},
		"what is not REST":    {"/version", "gzip", false},
		"what is no session":  {"/health", "gzip", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+tc.path, http.NoBody)
			require.NoError(t, err)
			r.Header.Set("Accept-Encoding", tc.accept) // turns off the client's own decoding
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer answer.Body.Close()
			var body io.Reader = answer.Body
			if tc.zipped {
				require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
				assert.Equal(t, "Accept-Encoding", answer.Header.Get("Vary"))
				body, err = gzip.NewReader(body)
				require.NoError(t, err)
			} else {
				assert.Empty(t, answer.Header.Get("Content-Encoding"))
			}
			text, err := io.ReadAll(body)
			require.NoError(t, err)
			assert.NotEmpty(t, text)
			if tc.zipped {
				assert.True(t, json.Valid(text))
			}
		})
	}
}

func TestLongPollsAreNotCompressed(t *testing.T) {
	for path, polls := range map[string]bool{
		"/api/copilot/session/a/live":     true,
		"/api/copilot/session/a/live/tok": true,
		"/api/copilot/job/a/live":         true,
		"/api/copilot/session/a/history":  false,
		"/api/copilot/session/a/lively":   false,
	} {
		assert.Equal(t, polls, server.IsLongPoll(path), path)
	}
}
