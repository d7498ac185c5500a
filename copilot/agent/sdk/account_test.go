package sdk_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/github/copilot-sdk/go/rpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestQuota(t *testing.T) {
	reset := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		snapshot string
		want     agent.Quota
	}{
		"one with a limit": {
			`{"entitlementRequests":10,"usedRequests":3,"remainingPercentage":70,"resetDate":"2026-02-01T00:00:00Z"}`,
			agent.Quota{Name: "chat", Used: 3, Limit: 10, Remaining: 70, Reset: reset},
		},
		"one without a date":  {`{"entitlementRequests":10,"remainingPercentage":100}`, agent.Quota{Name: "chat", Limit: 10, Remaining: 100}},
		"one without a limit": {`{"entitlementRequests":-1,"isUnlimitedEntitlement":true}`, agent.Quota{Name: "chat", Limit: -1, Unlimited: true}},
		"an exhausted one":    {`{"entitlementRequests":10,"usedRequests":12,"overage":2}`, agent.Quota{Name: "chat", Used: 12, Limit: 10}},
		"an empty one":        {`{}`, agent.Quota{Name: "chat"}},
	} {
		t.Run(name, func(t *testing.T) {
			var snapshot rpc.AccountQuotaSnapshot
			require.NoError(t, json.Unmarshal([]byte(tc.snapshot), &snapshot))
			assert.Equal(t, tc.want, sdk.Quota("chat", snapshot))
		})
	}
}

func TestAccount(t *testing.T) {
	const ada = `,"login":"ada","host":"https://github.com","statusMessage":"Logged in as ada"`
	signedIn := agent.Account{SignedIn: true, Login: "ada", Host: "https://github.com", Message: "Logged in as ada"}
	withQuotas := signedIn
	withQuotas.Quotas = []agent.Quota{{Name: "chat", Limit: -1, Unlimited: true}, {Name: "premium", Used: 3, Limit: 10, Remaining: 70}}
	for name, tc := range map[string]struct {
		fake scriptedCLI
		want agent.Account
	}{
		"a signed-in user has quotas, by name": {
			scriptedCLI{SignedIn: true, Account: ada, Quota: `{"quotaSnapshots":{
				"premium":{"entitlementRequests":10,"usedRequests":3,"remainingPercentage":70},
				"chat":{"entitlementRequests":-1,"isUnlimitedEntitlement":true}}}`},
			withQuotas,
		},
		"or none if they are unavailable": {scriptedCLI{SignedIn: true, Account: ada}, signedIn},
		"no user has none":                {scriptedCLI{Account: `,"statusMessage":"Not authenticated"`, Quota: `{"quotaSnapshots":{"chat":{}}}`}, agent.Account{Message: "Not authenticated"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.fake.Version = sdk.MinVersion
			got, err := launch(t, tc.fake.driver(t, nil)).Account(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
	t.Run("an account that is not used is not asked for", func(t *testing.T) {
		a := launch(t, scriptedCLI{Version: sdk.MinVersion, Dies: "auth.getStatus"}.driver(t, func(o *sdk.Options) { o.WithoutAccount = true }))
		got, err := a.Account(t.Context())
		require.NoError(t, err)
		assert.Equal(t, agent.Account{Message: "The configuration has `account: false`."}, got)
	})
	t.Run("a CLI that has ended reports nothing", func(t *testing.T) {
		_, err := launch(t, scriptedCLI{Version: sdk.MinVersion, Dies: "auth.getStatus"}.driver(t, nil)).Account(t.Context())
		assert.Equal(t, fault.Unavailable, fault.KindOf(err))
	})
}

func TestSignOut(t *testing.T) {
	for name, tc := range map[string]struct {
		auth string
		was  bool
		want string // the error
	}{
		"nobody":                      {`{}`, false, ""},
		"a user signed in by the CLI": {`{"authInfo":{"type":"user","host":"https://github.com","login":"ada"}}`, true, ""},
		"a token in a variable":       {`{"authInfo":{"type":"env","envVar":"GH_TOKEN","host":"https://github.com","token":"t"}}`, false, "the sign-in comes from the environment variable GH_TOKEN: unset it"},
		"a user of GitHub's CLI":      {`{"authInfo":{"type":"gh-cli","host":"https://github.com","login":"ada","token":"t"}}`, false, "the sign-in comes from GitHub's CLI: run `gh auth logout`"},
		"a passed token":              {`{"authInfo":{"type":"token","host":"https://github.com","token":"t"}}`, false, "the sign-in comes from a token (token) passed to the Copilot CLI"},
		"an unknown kind":             {`{"authInfo":{"type":"future"}}`, false, "the sign-in comes from a token (future) passed to the Copilot CLI"},
	} {
		t.Run(name, func(t *testing.T) {
			f := scriptedCLI{Version: sdk.MinVersion, Results: map[string]string{"account.getCurrentAuth": tc.auth, "account.logout": `{"hasMoreUsers":false}`}}
			was, err := launch(t, f.driver(t, nil)).SignOut(t.Context())
			assert.Equal(t, tc.was, was)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, fault.Denied, fault.KindOf(err))
			require.ErrorContains(t, err, tc.want)
			assert.NotContains(t, err.Error(), `"t"`)
		})
	}
	t.Run("a CLI that refuses returns the error", func(t *testing.T) {
		f := scriptedCLI{Version: sdk.MinVersion, Results: map[string]string{"account.getCurrentAuth": `{"authInfo":{"type":"user","host":"h","login":"ada"}}`}}
		was, err := launch(t, f.driver(t, nil)).SignOut(t.Context())
		assert.False(t, was)
		assert.ErrorContains(t, err, "the Copilot CLI refused")
	})
}
