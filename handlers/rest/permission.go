package rest

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
)

// permissionsOf returns the rules in force and those remembered from answers.
func (a *API) permissionsOf(c *gin.Context) {
	a.withSession(c, func(s *copilot.Session) {
		c.JSON(http.StatusOK, gin.H{"rules": s.Rules(), "remembered": s.Remembered()})
	})
}

// revoke removes a remembered rule: {rule}, or all of them: {all: true}.
func (a *API) revoke(c *gin.Context) {
	a.withSession(c, func(s *copilot.Session) {
		var wire struct {
			Rule string `json:"rule"`
			All  bool   `json:"all"`
		}
		b, err := body(c, maxAnswer)
		if err != nil {
			fail(c, err)
			return
		}
		if err := json.Unmarshal(b, &wire); err != nil || (wire.Rule == "") != wire.All {
			fail(c, fault.Errorf(fault.Invalid, `the body needs "rule" (a remembered one) or "all": true`))
			return
		}
		reply(c, s.Revoke(wire.Rule))
	})
}
