package secret_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/secret"
)

func documents() map[string]struct{ raw, want string } {
	return map[string]struct{ raw, want string }{
		"the arguments of a tool":             {`{"command": "curl -H 'Authorization: Bearer ` + random + `'", "n": 1.50}`, `{"command": "curl -H 'Authorization: Bearer …masked'", "n": 1.50}`},
		"a header":                            {`{"Authorization":"Basic YWRhOmxvdmVsYWNl"}`, `{"Authorization":"Basic …masked"}`},
		"escapes around a credential":         {`["<\n\u0067hp_` + random[:36] + `\"\\&"]`, `["<\nghp_…masked\"\\&"]`},
		"slashes with escapes":                {`"https:\/\/ada:hunter2@db.example"`, `"https://ada:…masked@db.example"`},
		"a private key":                       {`{"key":"` + begin + `\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n` + end + `\n"}`, `{"key":"` + begin + secret.Marker + end + `\n"}`},
		"the beginning of a private key":      {`["` + begin + `\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7", "abc"]`, `["` + begin + secret.Marker + `", "abc"]`},
		"the name of a member":                {`{"sk-ant-` + random + `":[true]}`, `{"sk-ant-…masked":[true]}`},
		"several, and others between":         {`["ghp_` + random + `" , "a\u00e4" ,null,"ghp_` + random + `"]`, `["ghp_…masked" , "a\u00e4" ,null,"ghp_…masked"]`},
		"nothing to mask":                     {` { "a" : "\u003c\/" , "b":[1e2,"",{}] } `, ` { "a" : "\u003c\/" , "b":[1e2,"",{}] } `},
		"a credential split over two strings": {`["ghp_","` + random + `"]`, `["ghp_","` + random + `"]`},
		"invalid JSON":                        {`{"a":"ghp_` + random, `{"a":"ghp_…masked`},
		"an empty text":                       {``, ``},
		"a string that ends with backslash":   {`["\\","ghp_` + random + `"]`, `["\\","ghp_…masked"]`},
	}
}

func TestMaskJSON(t *testing.T) {
	for name, tt := range documents() {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, string(secret.MaskJSON(json.RawMessage(tt.raw))))
		})
	}
	assert.Nil(t, secret.MaskJSON(nil))
}
