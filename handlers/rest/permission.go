package rest

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
)

// permissionsOf returns the rules in force and those remembered from answers.
func permissionsOf(_ *gin.Context, s *copilot.Session) (any, error) {
	return gin.H{"rules": s.Rules(), "remembered": s.Remembered()}, nil
}

// revoke removes a remembered rule: {rule}, or all of them: {all: true}.
func revoke(c *gin.Context, s *copilot.Session) (any, error) {
	b, err := body(c, maxAnswer)
	if err != nil {
		return nil, err
	}
	var p struct {
		Rule string `json:"rule"`
		All  bool   `json:"all"`
	}
	if err := json.Unmarshal(b, &p); err != nil || (p.Rule == "") != p.All {
		return nil, fault.Errorf(fault.Invalid, `the body needs "rule" (a remembered one) or "all": true`)
	}
	return nil, s.Revoke(p.Rule)
}
