package formserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// Vault returns the address of an MCP server over HTTP that requires an OAuth sign-in, with its own authorization server, which
// accepts everyone.
func Vault(tb testing.TB) string {
	tb.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	tb.Cleanup(s.Close)
	say := func(v map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	resource := say(map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", resource)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", say(map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "response_types_supported": []string{"code"},
		"grant_types_supported": []string{"authorization_code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"},
	}))
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var client map[string]any
		_ = json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "portal"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(client)
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		back := q.Get("redirect_uri") + "?" + url.Values{"code": {"1234"}, "state": {q.Get("state")}}.Encode()
		w.Header().Set("Location", back)
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("POST /token", say(map[string]any{"access_token": "opened", "token_type": "Bearer", "expires_in": 3600}))
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { vaultMCP(s.URL, w, r) })
	return s.URL + "/mcp"
}

func vaultMCP(base string, w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer opened" {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := `"error":{"code":-32601,"message":"Method not found"}`
	switch m.Method {
	case "initialize":
		result = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"vault","version":"1"}}`
	case "tools/list":
		result = `"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = `"result":{"content":[{"type":"text","text":"there is gold"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
}
