package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func seeds(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		"", "\n\n", "\uFEFF", "{", "[]", "[1]", "null", "\"\xff\"", `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1e2}}`,
		`[{"jsonrpc":"2.0","id":"\ud800","method":"echo"},{"jsonrpc":"2.0","method":"echo"},{"id":1,"result":1},7]`,
		`{"jsonrpc":"2.0","id":1.50,"method":"fail"}` + "\r\n" + `{"id":1,"error":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"method":"no"}`,
		`{"jsonrpc":"2.0","id":[],"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"echo","params":[[[]]]}`,
	} {
		f.Add([]byte(s))
	}
}

func fuzzed() jsonrpc.Methods {
	return jsonrpc.Methods{
		"echo": handle(echo),
		"fail": withReadLoop(handle(func(r *jsonrpc.Request) (any, error) { return nil, r.Decode(&struct{ A int }{}) })),
	}
}

// response has all members that an answer may have.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	} `json:"error"`
}

// responses decodes an answer strictly.
func responses(t *testing.T, raw []byte) (all []response) {
	t.Helper()
	require.True(t, utf8.Valid(raw))
	if raw[0] != '[' {
		raw = append(append([]byte("["), raw...), ']')
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&all), "%s", raw)
	require.NotEmpty(t, all)
	for _, r := range all {
		assert.Equal(t, "2.0", r.Version)
		assert.NotContains(t, "{[tf", string(r.ID[:1]))
		assert.NotEqual(t, r.Result == nil, r.Error == nil)
	}
	return all
}

// FuzzAnswer checks that any body gets a valid answer with at most the possible number of responses.
func FuzzAnswer(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		h := jsonrpc.NewHTTP(fuzzed(), jsonrpc.Options{})
		answer := h.Answer(t.Context(), body)
		if answer == nil {
			assert.True(t, json.Valid(bytes.TrimPrefix(body, []byte("\uFEFF"))), "invalid JSON is answered")
			return
		}
		all := responses(t, answer)
		if !utf8.Valid(body) || !json.Valid(bytes.TrimPrefix(body, []byte("\uFEFF"))) {
			require.Len(t, all, 1)
			assert.Equal(t, jsonrpc.CodeParse, all[0].Error.Code)
		}
		assert.LessOrEqual(t, len(all), 1+bytes.Count(body, []byte(",")))
	})
}

// FuzzPeer lets a peer read any bytes: it reads to the end, writes only valid lines, and still answers.
func FuzzPeer(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		const last = `{"jsonrpc":"2.0","id":"the last","method":"echo"}`
		got := converse(t, fuzzed(), jsonrpc.Options{}, jsonrpc.LineOptions{Max: 1000}, io.MultiReader(bytes.NewReader(in), bytes.NewReader([]byte("\n"+last))))
		assert.LessOrEqual(t, len(got), bytes.Count(in, []byte("\n"))+2)
		for _, line := range got {
			responses(t, []byte(line))
		}
		assert.Contains(t, got, `{"jsonrpc":"2.0","id":"the last","result":null}`)
	})
}

// FuzzSCII checks that escaping changes no value.
func FuzzSCII(f *testing.F) {
	for _, s := range []string{"", "a", "é日😀", "\uFFFD\U0010FFFF\u0080", "\"\\\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		message, err := json.Marshal([]string{s})
		require.NoError(t, err)
		out := &output{}
		require.NoError(t, jsonrpc.NewLines(io.NopCloser(nil), out, jsonrpc.LineOptions{ASCII: true}).Write([][]byte{message}))
		for _, c := range out.Bytes() {
			require.Less(t, c, byte(0x80))
		}
		assert.JSONEq(t, string(message), out.String())
	})
}
