package copilot

import (
	"context"
	"maps"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/session"
)

// maxRemembered is the maximum number of remembered permissions of a session.
const maxRemembered = 200

// remember turns an answer into rules for its scope and returns the answer with that scope. An answer that cannot be remembered applies once. Errors:
// kind [fault.Invalid] if too much is remembered. The caller must hold the lock.
func (s *Session) remember(q event.Question, a event.Answer) (event.Answer, error) {
	if q.Kind != event.AskPermission || len(q.Scopes) == 0 || !a.Remember {
		a.Remember, a.Scope = a.Remember && q.Kind != event.AskPermission, ""
		return a, nil
	}
	scope := q.Scopes[0]
	for _, other := range q.Scopes {
		if other.Kind == a.Scope {
			scope = other
		}
	}
	d := permission.Deny
	if a.Approved {
		d = permission.Allow
	}
	remembered := scope.Policy(d).Over(s.settings.Remembered)
	if len(remembered) > maxRemembered {
		return a, fault.Errorf(fault.Invalid, "%d permissions are remembered already: revoke some of them, or answer for once", maxRemembered)
	}
	a.Scope = scope.Kind
	s.setPolicies(s.settings.Policy, remembered)
	return a, nil
}

// Remembered returns a copy of the rules remembered from answers in this session. It is
// never nil, so that dialects encode an empty object.
func (s *Session) Remembered() permission.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := permission.Policy{}
	maps.Copy(rules, s.settings.Remembered)
	return rules
}

// Revoke removes a remembered rule, or all of them for "", from the next permission on. Errors: [fault.ErrRuleNotFound], those of
// [Session.Prompt] about the session.
func (s *Session) Revoke(rule string) error {
	return s.host.commands.revoke.effect(context.Background(), s, rule)
}

func (s *Session) revokeHere(rule string) error {
	if err := s.lockActive(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	switch {
	case s.machine.State() != session.Active:
		return fault.ErrSessionClosed
	case rule == "":
		s.setPolicies(s.settings.Policy, nil)
		return nil
	case !s.settings.Remembered.Has(rule):
		return fault.ErrRuleNotFound
	}
	left := maps.Clone(s.settings.Remembered)
	maps.DeleteFunc(left, func(key string, _ permission.Decision) bool { return permission.SameRule(key, rule) })
	s.setPolicies(s.settings.Policy, left)
	return nil
}

// setPolicies changes the rules of the session. It replaces the maps, which may be shared. The caller must hold the lock.
func (s *Session) setPolicies(policy, remembered permission.Policy) {
	if maps.Equal(policy, s.settings.Policy) && maps.Equal(remembered, s.settings.Remembered) {
		return
	}
	s.settings.Policy, s.settings.Remembered = policy, remembered
	s.recordInRun("", event.PolicyChanged{Rules: s.rules(), Remembered: maps.Clone(s.settings.Remembered)})
	s.storeHead()
}

// policies returns the policies in force, in order of precedence. The caller must hold the lock.
func (s *Session) policies() []permission.Policy {
	return []permission.Policy{s.settings.Remembered, s.settings.Policy, s.host.options.Policy}
}

// Rules returns the rules in force: remembered ones precede the session's, which precede the portal's.
func (s *Session) Rules() permission.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules()
}

// rules is Rules for callers that hold the lock.
func (s *Session) rules() permission.Policy {
	return s.settings.Remembered.Over(s.settings.Policy.Over(s.host.options.Policy))
}
