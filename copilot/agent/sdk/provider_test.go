package sdk_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// provider serves an answer to GET /v1/models and keeps the request.
func provider(t *testing.T, status int, answer string) (url string, asked func() *http.Request) {
	t.Helper()
	var last *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", func() *http.Request { return last }
}

func TestProvidersListTheirModels(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		answer string
		want   []string
		err    string
	}{
		"as OpenAI does":                    {200, `{"object":"list","data":[{"id":"a","object":"model"},{"id":"org/b"}]}`, []string{"a", "org/b"}, ""},
		"as Anthropic does":                 {200, `{"data":[{"type":"model","id":"c","display_name":"C"}],"has_more":false}`, []string{"c"}, ""},
		"none at all":                       {200, `{"data":[]}`, []string{}, ""},
		"without a list":                    {200, `{}`, []string{}, ""},
		"entries without an id are ignored": {200, `{"data":[{"id":""},{},{"id":"a"}]}`, []string{"a"}, ""},
		"duplicates are removed":            {200, `{"data":[{"id":"a"},{"id":"b"},{"id":"a"}]}`, []string{"a", "b"}, ""},
		"a wrong key":                       {401, `{"error":"no"}`, nil, "/v1/models answers 401 Unauthorized"},
		"a failing server":                  {500, ``, nil, "/v1/models answers 500"},
		"a missing path":                    {404, `not found`, nil, "/v1/models answers 404"},
		"an HTML page":                      {200, `<html>`, nil, "not JSON of the expected form"},
		"an empty response":                 {200, ``, nil, "not JSON of the expected form"},
		"a truncated response":              {200, `{"data":[{"id":"a"}`, nil, "not JSON of the expected form"},
		"a list of something else":          {200, `{"data":["a"]}`, nil, "not JSON of the expected form"},
		"a response that is too large":      {200, `{"data":[` + strings.Repeat(`{"id":"xxxxxxxxxxxxxxxxxxxxxxxx"},`, 200_000) + `{}]}`, nil, "not JSON of the expected form"},
		"a redirect":                        {302, ``, nil, "/v1/models answers 302"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := provider(t, tc.status, tc.answer)
			got, err := (&sdk.Provider{Type: "openai", BaseURL: url}).List(t.Context())
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestConfiguredModelsAreNotRequested(t *testing.T) {
	got, err := (&sdk.Provider{BaseURL: "http://127.0.0.1:1", Models: []string{"a"}}).List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, got)
}

func TestRequestDependsOnProviderType(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, key, path string
		want            map[string]string
	}{
		"OpenAI":                     {"openai", "k", "/v1/models", map[string]string{"Authorization": "Bearer k", "X-Api-Key": "", "Api-Key": ""}},
		"OpenAI without a key":       {"openai", "", "/v1/models", map[string]string{"Authorization": "", "X-Api-Key": "", "Api-Key": ""}},
		"Azure":                      {"azure", "k", "/v1/openai/v1/models", map[string]string{"Api-Key": "k", "Authorization": ""}},
		"Anthropic":                  {"anthropic", "k", "/v1/models", map[string]string{"X-Api-Key": "k", "Anthropic-Version": "2023-06-01", "Authorization": ""}},
		"an Anthropic without a key": {"anthropic", "", "/v1/models", map[string]string{"X-Api-Key": "", "Anthropic-Version": "2023-06-01", "Authorization": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, slash := range []string{"", "/", "//"} {
				url, asked := provider(t, 200, `{"data":[]}`)
				_, err := (&sdk.Provider{Type: tc.kind, BaseURL: url + slash, APIKey: tc.key}).List(t.Context())
				require.NoError(t, err)
				assert.Equal(t, http.MethodGet, asked().Method)
				assert.Equal(t, tc.path, asked().URL.Path)
				for header, value := range tc.want {
					assert.Equal(t, value, asked().Header.Get(header), header)
				}
			}
		})
	}
}

func TestKeysAreNotSentToRedirects(t *testing.T) {
	url, asked := provider(t, 200, `{"data":[{"id":"evil"}]}`)
	elsewhere := httptest.NewServer(http.RedirectHandler(url+"/models", http.StatusFound))
	defer elsewhere.Close()
	for _, kind := range []string{"openai", "azure", "anthropic"} {
		_, err := (&sdk.Provider{Type: kind, BaseURL: elsewhere.URL, APIKey: "secret"}).List(t.Context())
		require.Error(t, err)
		assert.Nil(t, asked())
	}
}

func TestProviderErrorsHidePasswords(t *testing.T) {
	url, _ := provider(t, 500, "")
	url = strings.Replace(url, "http://", "http://user:s3cret@", 1)
	_, err := (&sdk.Provider{BaseURL: url}).List(t.Context())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "s3cret")
	_, err = (&sdk.Provider{BaseURL: "http://user:s3cret@127.0.0.1:1"}).List(t.Context())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "s3cret")
}

func FuzzListOfModels(f *testing.F) {
	for _, seed := range []string{`{"data":[{"id":"a"}]}`, `{"data":null}`, `[]`, `{"data":[1]}`, `{"data":{"id":"x"}}`, "", "{", `{"data":[{"id":1}]}`, "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := sdk.DecodeModels(strings.NewReader(text))
		if err != nil {
			assert.Nil(t, ids)
			return
		}
		seen := map[string]bool{}
		for _, id := range ids {
			assert.NotEmpty(t, id)
			assert.False(t, seen[id], "%q twice", id)
			seen[id] = true
		}
	})
}
