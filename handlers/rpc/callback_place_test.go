package rpc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/rpc"
)

// The address is checked again when it is dialled, because a name may mean another machine by then.
func TestCallbacksAreCarriedToThisMachineOnly(t *testing.T) {
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer here.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	post := func(address string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
		require.NoError(t, err)
		return rpc.Carrier(false).RoundTrip(r)
	}
	for _, address := range []string{"http://192.0.2.1/", "http://[2001:db8::1]/", "http://0.0.0.0/", "http://169.254.169.254/"} {
		response, err := post(address)
		if err == nil {
			_ = response.Body.Close()
		}
		require.ErrorContains(t, err, "it is not on this machine", address)
	}
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1") // is not asked
	response, err := post(here.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
}

func TestCallbackIsNotRedirected(t *testing.T) {
	inTimeWith(t, copilot.Options{}, rpc.Options{Callback: "http://localhost:1234"}, func(a *api) {
		a.agents.Script = commits
		a.plugin.answer = func(r *http.Request, _ document) (int, string) {
			if r.URL.Path == "/elsewhere" {
				return http.StatusOK, success
			}
			return http.StatusTemporaryRedirect, success
		}
		a.plugin.location = "http://localhost:9999/elsewhere"
		id := a.create(document{"permissions": document{"git.commit": "allow"}})
		s := a.open(id, "", "")
		a.send(id, "p")
		assert.Contains(a, shown(s.until("done")), "the IDE answered with HTTP status 307")
		assert.Equal(a, []string{"http://localhost:1234/tool-callback"}, a.plugin.paths)
	})
}
