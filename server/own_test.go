package server_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

func TestCancellingAJobSendsTheTokenOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		needsToken bool
		want       []string // the header of each request
	}{
		"a server that asks for none": {false, []string{""}},
		"one that does":               {true, []string{"", "Bearer s3cret"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				token := r.Header.Get("Authorization")
				got = append(got, token)
				if tc.needsToken && token == "" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				_, _ = w.Write([]byte(`{"result": "Closed"}`))
			}))
			defer s.Close()
			port, err := strconv.Atoi(strings.TrimPrefix(s.URL, "http://127.0.0.1:"))
			require.NoError(t, err)
			c, err := load(t, "", []string{"PORTAL_TOKEN=s3cret"})
			require.NoError(t, err)
			c.Host, c.Port = "127.0.0.1", port
			require.NoError(t, server.CancelJob(t.Context(), c, "some-id"))
			assert.Equal(t, tc.want, got)
		})
	}
}
