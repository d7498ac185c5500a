package rpc

import (
	"strings"

	"github.com/copilot-portal/portal/copilot"
)

// policy reads permissions. A force push goes by the rule for pushes where it
// follows them and has none of its own: by the contract's notes that counts
// before the configuration.
func policy(permissions map[string]string, follows bool) (copilot.Policy, error) {
	rules, err := copilot.ParsePolicy(permissions)
	if err != nil {
		return nil, err
	}
	push, ok := rule(rules, copilot.PermPush)
	_, own := rule(rules, copilot.PermForcePush)
	if ok && !own && (follows || push != copilot.Allow) {
		rules[copilot.PermForcePush] = push
	}
	return rules, nil
}

// rule finds the rule of a name in any case.
func rule[D any](rules map[string]D, name string) (d D, ok bool) {
	for n, d := range rules {
		if strings.EqualFold(n, name) {
			return d, true
		}
	}
	return d, false
}

// permit puts permissions over those of a session.
func (a *API) permit(s *copilot.Session, permissions map[string]string) error {
	if len(permissions) == 0 {
		return nil
	}
	u := a.use(s)
	rules, err := policy(permissions, u.forceFollows())
	if err != nil {
		return err
	}
	if err := s.Permit(rules); err != nil {
		return err
	}
	u.setRules(permissions, false)
	return nil
}
