package sdk

import (
	"context"
	"slices"
	"strings"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Account queries the sign-in of the CLI and then the quotas. If these are unavailable, it returns the rest
// without an error.
func (a *Agent) Account(ctx context.Context) (agent.Account, error) {
	var account agent.Account
	err := a.call(ctx, callTimeout, func(ctx context.Context) error {
		status, err := a.client.GetAuthStatus(ctx)
		if err != nil {
			return err
		}
		account = agent.Account{
			SignedIn: status.IsAuthenticated, Login: text(status.Login),
			Host: text(status.Host), Message: text(status.StatusMessage),
		}
		return nil
	})
	if err != nil {
		return account, a.refused(err)
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
	err := a.call(ctx, callTimeout, func(ctx context.Context) error {
		result, err := a.client.RPC.Account.GetQuota(ctx, &rpc.AccountGetQuotaRequest{})
		if err != nil {
			return err
		}
		for name, q := range result.QuotaSnapshots {
			quotas = append(quotas, quota(name, q))
		}
		return nil
	})
	if err != nil {
		a.driver.options.Log.Warn("cannot get the quotas from the Copilot CLI", "err", err)
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

// Extensions lists what the CLI would load for a session in a directory.
func (a *Agent) Extensions(ctx context.Context, directory string) (x agent.Extensions, err error) {
	err = a.call(ctx, callTimeout, func(ctx context.Context) error {
		servers, err := a.client.RPC.MCP.Discover(ctx, &rpc.MCPDiscoverRequest{WorkingDirectory: &directory})
		if err != nil {
			return err
		}
		skills, err := a.client.RPC.Skills.Discover(ctx, &rpc.SkillsDiscoverRequest{ProjectPaths: []string{directory}})
		if err != nil {
			return err
		}
		x = discovered(servers.Servers, skills.Skills)
		return nil
	})
	if err != nil {
		return x, a.refused(err)
	}
	return x, nil
}

func discovered(servers []rpc.DiscoveredMCPServer, skills []rpc.ServerSkill) agent.Extensions {
	x := agent.Extensions{}
	for _, s := range servers {
		state := event.ServerConfigured
		if !s.Enabled {
			state = event.ServerDisabled
		}
		server := event.Server{Name: s.Name, State: state, Source: string(s.Source)}
		if s.Type != nil {
			server.Transport = string(*s.Type)
		}
		x.Servers = append(x.Servers, server)
	}
	for _, s := range skills {
		x.Skills = append(x.Skills, agent.Skill{
			Name: s.Name, Description: s.Description, Source: string(s.Source), Path: text(s.Path),
			Enabled: s.Enabled, Invocable: s.UserInvocable,
		})
	}
	return x
}

// Extensions lists what the CLI has loaded for this session.
func (c *conversation) Extensions(ctx context.Context) (x agent.Extensions, err error) {
	err = c.agent.call(ctx, callTimeout, func(ctx context.Context) error {
		servers, err := c.session.RPC.MCP.List(ctx)
		if err != nil {
			return err
		}
		skills, err := c.session.RPC.Skills.List(ctx)
		if err != nil {
			return err
		}
		x = loaded(servers.Servers, skills.Skills)
		return nil
	})
	return x, err
}

func loaded(servers []rpc.MCPServer, skills []rpc.Skill) agent.Extensions {
	x := agent.Extensions{}
	for _, s := range servers {
		server := event.Server{Name: s.Name, State: serverState(s.Status), Error: text(s.Error)}
		if s.Source != nil {
			server.Source = string(*s.Source)
		}
		x.Servers = append(x.Servers, server)
	}
	for _, s := range skills {
		x.Skills = append(x.Skills, agent.Skill{
			Name: s.Name, Description: s.Description, Source: string(s.Source), Path: text(s.Path),
			Enabled: s.Enabled, Invocable: s.UserInvocable,
		})
	}
	return x
}

func serverState(s rpc.MCPServerStatus) event.ServerState {
	switch s {
	case rpc.MCPServerStatusConnected:
		return event.ServerConnected
	case rpc.MCPServerStatusPending:
		return event.ServerPending
	case rpc.MCPServerStatusNeedsAuth:
		return event.ServerSignIn
	case rpc.MCPServerStatusFailed:
		return event.ServerFailed
	case rpc.MCPServerStatusNotConfigured:
		return event.ServerConfigured
	case rpc.MCPServerStatusDisabled, rpc.MCPServerStatusStopped:
	}
	return event.ServerDisabled
}

// SignIn makes the CLI wait for the browser and returns the page to open.
func (c *conversation) SignIn(ctx context.Context, server string) (url string, err error) {
	err = c.agent.call(ctx, callTimeout, func(ctx context.Context) error {
		back := "You are signed in. Close this page and go back to the portal."
		result, err := c.session.RPC.MCP.Oauth().Login(ctx, &rpc.MCPOauthLoginRequest{
			ServerName: server, ClientName: vendor.String("Copilot Portal"), CallbackSuccessMessage: &back,
		})
		if err != nil {
			return err
		}
		url = text(result.AuthorizationURL)
		return nil
	})
	if err != nil {
		return "", fault.Errorf(fault.Invalid, "cannot start the sign-in to %q: %w", server, err)
	}
	return url, nil
}
