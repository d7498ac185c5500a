package sdk

import (
	"context"
	"slices"
	"strings"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Account queries the sign-in of the CLI and then the quotas. If these are unavailable, it returns the rest
// without an error.
func (a *Agent) Account(ctx context.Context) (agent.Account, error) {
	if a.driver.options.WithoutAccount {
		return agent.Account{Message: "The configuration has `account: false`."}, nil
	}
	status, err := fetch(ctx, a, callTimeout, a.client.GetAuthStatus)
	if err != nil {
		return agent.Account{}, a.refused(err)
	}
	account := agent.Account{
		SignedIn: status.IsAuthenticated, Login: text(status.Login),
		Host: text(status.Host), Message: text(status.StatusMessage),
	}
	if account.SignedIn {
		account.Quotas = a.quotas(ctx)
	}
	return account, nil
}

// SignOut ends a sign-in that the CLI stores itself.
func (a *Agent) SignOut(ctx context.Context) (was bool, err error) {
	var elsewhere error
	err = a.call(ctx, callTimeout, func(ctx context.Context) error {
		current, err := a.client.RPC.Account.GetCurrentAuth(ctx)
		if err == nil && current.AuthInfo != nil {
			elsewhere = externalSignInError(current.AuthInfo)
		}
		if err != nil || current.AuthInfo == nil || elsewhere != nil {
			return err
		}
		_, err = a.client.RPC.Account.Logout(ctx, &rpc.AccountLogoutRequest{AuthInfo: current.AuthInfo})
		was = err == nil
		return err
	})
	if err != nil {
		return false, a.refused(err)
	}
	return was, elsewhere
}

// externalSignInError names the source of a sign-in that is not the CLI's own; nil if it is the CLI's own.
func externalSignInError(auth rpc.AuthInfo) error {
	switch auth := auth.(type) {
	case *rpc.UserAuthInfo:
		return nil
	case *rpc.EnvAuthInfo:
		return fault.Errorf(fault.Denied, "the sign-in comes from the environment variable %s: unset it and restart the portal", auth.EnvVar)
	case *rpc.GhCLIAuthInfo:
		return fault.Errorf(fault.Denied, "the sign-in comes from GitHub's CLI: run `gh auth logout` and restart the portal")
	}
	return fault.Errorf(fault.Denied, "the sign-in comes from a token (%s) passed to the Copilot CLI: remove it and restart the portal", auth.Type())
}

func (a *Agent) quotas(ctx context.Context) (quotas []agent.Quota) {
	result, err := fetch(ctx, a, callTimeout, func(ctx context.Context) (*rpc.AccountGetQuotaResult, error) {
		return a.client.RPC.Account.GetQuota(ctx, &rpc.AccountGetQuotaRequest{})
	})
	if err != nil {
		a.driver.options.Log.Warn("cannot get the quotas from the Copilot CLI", "err", err)
		return nil
	}
	for name, q := range result.QuotaSnapshots {
		quotas = append(quotas, quota(name, q))
	}
	slices.SortFunc(quotas, func(x, y agent.Quota) int { return strings.Compare(x.Name, y.Name) })
	return quotas
}

func quota(name string, q rpc.AccountQuotaSnapshot) agent.Quota {
	quota := agent.Quota{
		Name: name, Used: q.UsedRequests, Limit: q.EntitlementRequests,
		Unlimited: q.IsUnlimitedEntitlement, Remaining: q.RemainingPercentage,
	}
	if q.ResetDate != nil {
		quota.Reset = *q.ResetDate
	}
	return quota
}
