package ws_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/handlers/ws"
)

func TestInvalidBodyIsExplainedInJSONTerms(t *testing.T) {
	virtually(t, nil, func(s *site) {
		for body, want := range map[string]string{
			`{"type": "prompt", "promt": "x"}`:                           "the key \"promt\" is not known here",
			`{"type": "prompt", "prompt": "x", "persist": {"pth": "x"}}`: "the key \"pth\" is not known here",
			`{"<img src=x onerror=alert(1)>": 1}`:                        `the key "\u003cimg src=x onerror=alert(1)\u003e" is not known here`,
			`{"` + strings.Repeat("x", 100) + `": 1}`:                    `the key "` + strings.Repeat("x", 63) + `…" is not known here`,
			`{"type": 5}`:                    "\"type\" must be a string, not a number",
			`{"persist": []}`:                "\"persist\" must be an object, not an array",
			`{"persist": {"commit": "yes"}}`: "\"persist.commit\" must be a boolean, not a string",
			`[]`:                             "the body must be an object, not an array",
			`"x"`:                            "the body must be an object, not a string",
			`{`:                              "the body is not valid JSON",
			`{"type": <}`:                    "the body is not valid JSON",
			`{} {}`:                          "the body must be one JSON object, with nothing behind it",
			`{"type": "prompt", "prompt": "x", "model": "<b>"}`:                                "no such model; available: model-a, model-b",
			`{"type": "clarify", "path": "<b>"}`:                                               "no such file in the working directory: give the document, or the path of an existing one",
			`{"type": "prompt", "prompt": "x", "working_directory": "/no/such/<b>/directory"}`: "the working directory does not exist or is not a directory",
		} {
			assert.Equal(t, want, s.ask("POST", "/operations", body).message(t), body)
		}
		assert.Equal(t, "limit must be an integer of at least 1", s.ask("GET", "/operations?limit=<b>", "").message(t))
		assert.Equal(t, "type and feature are those of the path: leave them out of the body", s.ask("POST", "/features/a/plan", `{"type": "clarify"}`).message(t))
		assert.Equal(t, "\"scopes\" must be an array, not a string", s.ask("POST", "/auth/verify", `{"scopes": "x"}`).message(t))
		assert.Equal(t, http.StatusOK, s.ask("POST", "/auth/verify", " \n").status, "only whitespace is an empty body")
	})
}

// No body makes decoding panic, and no error contains markup from the body.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"type":"prompt"}`, `{"<b>":1}`, `{"persist":{"<b>":[]}}`, `[<b>]`, "\xff", `{} <b>`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if err := ws.DecodeRequest([]byte(body)); err != nil {
			assert.NotContains(t, err.Error(), "<")
			assert.NotContains(t, err.Error(), "Go ")
			assert.Less(t, len(err.Error()), 1000)
		}
	})
}
