package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/handlers/mcp"
)

// FuzzAnswer looks for arguments that approve something without saying so.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{}`, `{"approved":true}`, `{"approved":false,"reason":"no"}`, `{"text":"x"}`, `{"approved":true,"fields":{"a":[1]}}`, `{"fields":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		answer, err := mcp.DecodeAnswer(b)
		var given struct{ Approved *bool }
		if err != nil || json.Unmarshal(b, &given) != nil {
			return
		}
		assert.Equal(t, given.Approved != nil && *given.Approved, answer.Approved)
		if answer.Fields != nil {
			assert.True(t, answer.Approved)
		}
	})
}

func FuzzAddressOfAResource(f *testing.F) {
	for _, seed := range []string{"", "portal://session/x", "portal://result/a/b", "://", "portal://session//", "%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) { assert.NotEmpty(t, mcp.IDsOf(address)) })
}
