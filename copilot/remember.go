package copilot

import (
	"maps"
)

// maxRemembered is how many permissions a session remembers.
const maxRemembered = 200

// remember makes an answer the rules of its scope, and returns it with the scope. What
// cannot be remembered is for once. Errors: kind [Invalid] when too much is remembered.
// Called with the lock held.
func (s *Session) remember(q Question, a Answer) (Answer, error) {
	if q.Kind != AskPermission || len(q.Scopes) == 0 || !a.Remember && a.Scope == "" {
		a.Remember = a.Remember && q.Kind != AskPermission
		return a, nil
	}
	scope := q.Scopes[0]
	for _, other := range q.Scopes {
		if other.Kind == a.Scope {
			scope = other
		}
	}
	d := Deny
	if a.Approved {
		d = Allow
	}
	remembered := scope.policy(d).over(s.remembered)
	if len(remembered) > maxRemembered {
		return a, Errorf(Invalid, "%d permissions are remembered already: revoke some of them, or answer for once", maxRemembered)
	}
	a.Remember, a.Scope = true, scope.Kind
	s.setPolicies(s.policy, remembered)
	return a, nil
}

// Remembered returns a copy of the rules that answers have made in this session; it is
// never nil, so that dialects encode an empty object.
func (s *Session) Remembered() Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := Policy{}
	maps.Copy(rules, s.remembered)
	return rules
}

// Revoke forgets a rule that an answer has made, all of them for "", from the next
// permission on. Errors: [ErrRuleNotFound], those of [Session.Prompt] about the session.
func (s *Session) Revoke(rule string) error {
	if err := s.lockAwake(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrSessionClosed
	case rule == "":
		s.setPolicies(s.policy, nil)
		return nil
	case !s.remembered.has(rule):
		return ErrRuleNotFound
	}
	left := maps.Clone(s.remembered)
	maps.DeleteFunc(left, func(key string, _ Decision) bool { return sameRule(key, rule) })
	s.setPolicies(s.policy, left)
	return nil
}

// without are the remembered rules that stay when rules are put over old ones: not
// those that are given anew, nor those of a name whose rule becomes another.
func (p Policy) without(rules, old Policy) Policy {
	left := maps.Clone(p)
	maps.DeleteFunc(left, func(key string, _ Decision) bool {
		d, given := rules.lookup(subject(key))
		before, had := old.lookup(subject(key))
		return rules.has(key) || given && (!had || d != before)
	})
	return left
}

// setPolicies changes the rules of the session. The maps are new ones: the old may be
// shared. Called with the lock held.
func (s *Session) setPolicies(policy, remembered Policy) {
	if maps.Equal(policy, s.policy) && maps.Equal(remembered, s.remembered) {
		return
	}
	s.policy, s.remembered = policy, remembered
	s.append("", PolicyChanged{Rules: s.rules(), Remembered: maps.Clone(s.remembered)})
	s.renew()
}

// policies are those that decide, the first before the next. Called with the lock held.
func (s *Session) policies() []Policy {
	return []Policy{s.remembered, s.policy, s.host.options.Policy}
}

// Rules are those in force: what is remembered over the session's over the portal's.
func (s *Session) Rules() Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules()
}

// rules is Rules with the lock held.
func (s *Session) rules() Policy {
	return s.remembered.over(s.policy.over(s.host.options.Policy))
}
