package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

func TestOpenAPIDocumentIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../spec/openapi.yaml")
	require.NoError(t, err)
	assert.True(t, doc.IsOpenAPI31OrLater())
	assert.NoError(t, doc.Validate(t.Context()))
}

// openAPI returns the routes that spec/openapi.yaml describes.
func openAPI(t *testing.T) []*contract.Route {
	t.Helper()
	text, err := os.ReadFile("../spec/openapi.yaml")
	require.NoError(t, err)
	c, err := contract.Parse(text)
	require.NoError(t, err)
	return c.Routes()
}

// otherDialects are the routes of WebSockets, streams and JSON-RPC, which other contracts describe.
func otherDialects() []string {
	return []string{"DELETE /mcp", "GET /acp", "GET /api/v1/ws", "GET /mcp", "GET /rpc", "GET /stream/{id}", "GET /terminal/{id}", "GET /ui", "GET /ws", "POST /mcp", "POST /rpc"}
}

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	parameter := regexp.MustCompile(`[:*](\w+)`)
	var routes, described []string
	for _, r := range server.RoutesOf(inside(t, nil).Handler(8888)) {
		routes = append(routes, r.Method+" "+parameter.ReplaceAllString(r.Path, "{$1}"))
	}
	for _, r := range openAPI(t) {
		described = append(described, r.Method+" "+r.Path)
	}
	assert.ElementsMatch(t, routes, append(described, otherDialects()...))
}

func TestOpenAPIDescribesWhatLinksOpen(t *testing.T) {
	linked, _, _ := server.Linked()
	parameter := regexp.MustCompile(`{(\w+)}`)
	for _, r := range openAPI(t) {
		if r.Path == "/s/{link}/open" {
			continue
		}
		_, want := linked[r.Method+" "+parameter.ReplaceAllString(r.Path, ":$1")]
		assert.Equal(t, want, slices.Contains(r.Security, "link"), "%s %s", r.Method, r.Path)
	}
}

// toUI are the requests of the portal to UIs.
func toUI() []string {
	return []string{"client.tool.call", "portal.form.request", "ui.confirm.request", "ui.pick.request", "ui.prompt.request"}
}

func TestContractsDescribeEveryMethod(t *testing.T) {
	ui, rpc := inside(t, nil).Methods()
	for name, c := range map[string]struct {
		read    func() (*contract.Dialect, error)
		methods []string
	}{
		"ui.schema.json":   {contract.UI, append(ui, toUI()...)},
		"openrpc.json":     {contract.RPC, rpc},
		"cli.openrpc.json": {contract.CLI, []string{"initialize", "exit", "generate", "customize", "chat"}},
	} {
		dialect, err := c.read()
		require.NoError(t, err, name)
		_, described := dialect.Methods()
		assert.ElementsMatch(t, c.methods, described, name)
	}
}

// askFitting is ask for an exchange that must fit spec/openapi.yaml. It returns the status.
func askFitting(t *testing.T, h http.Handler, method, path string, header ...string) int {
	t.Helper()
	w := ask(h, method, path, header...)
	contract.Check(t, contract.Exchange{
		Method: method, Path: path, Status: w.Code, Type: w.Header().Get("Content-Type"), Response: w.Body.String(),
	})
	return w.Code
}

func TestOpenAPIDescribesEveryRefusal(t *testing.T) {
	routes := openAPI(t)
	for name, header := range map[string][]string{
		"another host":        {"Host", "evil.example"},
		"another origin":      {"Origin", "http://evil.example"},
		"no token":            {},
		"a wrong token":       {"Authorization", "Bearer wrong"},
		"a link that expired": {"Authorization", "Bearer share_" + strings.Repeat("x", 43)},
	} {
		t.Run(name, func(t *testing.T) {
			h := guarded(t)
			for _, r := range routes {
				assert.GreaterOrEqual(t, askFitting(t, h, r.Method, r.Path, header...), http.StatusBadRequest, "%s %s", r.Method, r.Path)
			}
		})
	}
}

func TestOpenAPIDescribesThePortalItself(t *testing.T) {
	for _, path := range []string{
		"/health", "/version", "/metrics", "/api/config", "/api/test", "/api/token", "/api/stop",
		"/spec", "/spec/openapi.yaml", "/spec/openrpc.json", "/spec/cli.openrpc.json", "/spec/operations.asyncapi.yaml", "/spec/streams.asyncapi.yaml", "/spec/ui.schema.json",
	} {
		assert.Equal(t, http.StatusOK, askFitting(t, inside(t, nil).Handler(8888), "GET", path), path)
	}
	assert.Equal(t, http.StatusOK, askFitting(t, inside(t, nil).Handler(8888), "POST", "/api/stop"))
}

func TestContractsAreServed(t *testing.T) {
	h := inside(t, func(c *server.Config) { c.BasePath = "/portal" }).Handler(8888)
	var index struct {
		Contracts []struct{ Path, Type, Describes string }
	}
	w := ask(h, "GET", "/portal/spec")
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &index))
	var paths []string
	for _, one := range index.Contracts {
		paths = append(paths, one.Path)
		w := ask(h, "GET", one.Path)
		assert.Equal(t, one.Type, w.Header().Get("Content-Type"))
		assert.NotEmpty(t, one.Describes)
		if one.Path == "/portal/spec/openapi.json" {
			_, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
			require.NoError(t, err)
			continue
		}
		want, err := os.ReadFile(".." + strings.TrimPrefix(one.Path, "/portal"))
		require.NoError(t, err)
		assert.Equal(t, string(want), w.Body.String())
	}
	assert.Equal(t, []string{
		"/portal/spec/openapi.yaml", "/portal/spec/openapi.json", "/portal/spec/openrpc.json", "/portal/spec/cli.openrpc.json", "/portal/spec/operations.asyncapi.yaml", "/portal/spec/streams.asyncapi.yaml",
		"/portal/spec/ui.schema.json",
	}, paths)
	assert.Equal(t, http.StatusNotFound, ask(h, "GET", "/portal/spec/spec.go").Code)
}
