package rpc

import (
	"context"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// policy decodes permissions. Force pushes follow the rule for pushes unless they have one of
// their own: by spec/contracts/json-rpc-http.notes.md, "RPC", that precedes the configuration.
func policy(permissions map[string]string, follows bool) (permission.Policy, error) {
	rules, err := permission.ParsePolicy(permissions)
	if err != nil {
		return nil, err
	}
	push, ok := rule(rules, permission.Push)
	_, own := rule(rules, permission.ForcePush)
	if ok && !own && (follows || push != permission.Allow) {
		rules[permission.ForcePush] = push
	}
	return rules, nil
}

// rule returns the rule of a name in any case.
func rule[D any](rules map[string]D, name string) (d D, ok bool) {
	for n, d := range rules {
		if strings.EqualFold(n, name) {
			return d, true
		}
	}
	return d, false
}

// addRules adds rules to those of a session, and the new ones win.
func (a *API) addRules(s *copilot.Session, permissions map[string]string) error {
	if len(permissions) == 0 {
		return nil
	}
	u := a.use(s)
	rules, err := policy(permissions, u.forceFollows())
	if err != nil {
		return err
	}
	if err := s.SetRules(rules); err != nil {
		return err
	}
	u.setRules(permissions, false)
	return nil
}

// revokeParams name a rule that comes from an answer, or all.
type revokeParams struct {
	SessionID string `json:"sessionId"`
	Rule      string `json:"rule"`
	All       bool   `json:"all"`
}

// permissions is session.permissions: the rules in force, and those of them that come from
// answers.
func (a *API) permissions(ctx context.Context, p sessionParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string]permission.Policy{"rules": s.Rules(), "remembered": s.Remembered()}, nil
}

// revoke is session.revoke.
func (a *API) revoke(ctx context.Context, p revokeParams) (any, error) {
	if (p.Rule == "") != p.All {
		return nil, jsonrpc.InvalidParams(`"rule" (one that is remembered) or "all": true is missing`)
	}
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"revoked": true}, s.Revoke(p.Rule)
}
