package page

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/ui"
)

// About is what the dialect cannot know of the portal, and tells. It has no secrets.
type About struct {
	Started       time.Time      // zero: when the dialect was made
	Storage       func() Storage // how it is now; nil: nothing is stored
	Providers     []Provider
	Configuration Configuration
}

// Storage is how it stands with what keeps the sessions.
type Storage struct {
	OK        bool   `json:"ok"`                // what happens outlives the portal
	Message   string `json:"message,omitempty"` // why not
	Directory string `json:"directory"`
	Bytes     int64  `json:"bytes,omitempty"`
}

// Provider is a source of models that is configured.
type Provider struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Models []string `json:"models"` // those that are named; others are asked for
}

// Configuration is what is worth knowing of it.
type Configuration struct {
	File        string      `json:"file,omitempty"` // that was read
	Directory   string      `json:"directory"`      // of sessions whose client names none; left out, it is [Options.WorkDir]
	Model       string      `json:"model,omitempty"`
	Demo        bool        `json:"demo"`
	Permissions Permissions `json:"permissions"`
}

// Permissions are those that are configured.
type Permissions struct {
	Rest     string            `json:"rest"`
	Headless string            `json:"headless"`
	Rules    map[string]string `json:"rules"`
}

type statusResult struct {
	Version       string                `json:"version"`
	Uptime        int64                 `json:"uptime_s"`
	Agent         agentStatus           `json:"agent"`
	Account       *accountStatus        `json:"account"` // null if it was not asked for
	Pool          poolStatus            `json:"pool"`
	Sessions      map[copilot.State]int `json:"sessions"`
	Storage       Storage               `json:"storage"`
	Providers     []Provider            `json:"providers"`
	Configuration Configuration         `json:"configuration"`
}

type agentStatus struct {
	State   agent.HealthState `json:"state"`
	Version string            `json:"version"`
	Message string            `json:"message"`
	Hint    string            `json:"hint"`
}

type accountStatus struct {
	SignedIn bool    `json:"signed_in"`
	Login    string  `json:"login,omitempty"`
	Host     string  `json:"host,omitempty"`
	Message  string  `json:"message,omitempty"`
	Quotas   []quota `json:"quotas"`
}

type quota struct {
	Name      string  `json:"name"`
	Used      int64   `json:"used"`
	Limit     int64   `json:"limit"`
	Unlimited bool    `json:"unlimited"`
	Remaining float64 `json:"remaining_percent"`
	Reset     string  `json:"reset_at,omitempty"`
}

type poolStatus struct {
	Running int    `json:"running"`
	Starts  uint64 `json:"starts"`
	Deaths  uint64 `json:"deaths"`
}

// status is portal.status. An agent that cannot be had is no reason not to tell.
func (n *connection) status(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Refresh bool `json:"refresh"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	var account *accountStatus
	if p.Refresh { // first: it tells of the agent, too
		account = n.account(ctx)
	}
	o, health, stats := n.api.options, n.host().Health(), n.host().Stats()
	result := statusResult{
		Version: o.Version, Uptime: int64(time.Since(o.About.Started).Seconds()),
		Agent:   agentStatus{health.State, health.Version, health.Message, health.Hint},
		Account: account, Pool: poolStatus{stats.Agents.Running, stats.Agents.Starts, stats.Agents.Deaths},
		Sessions: stats.Sessions, Storage: o.About.storage(), Providers: o.About.Providers, Configuration: o.About.Configuration,
	}
	return result, nil
}

// complete fills in what was left out.
func (a About) complete() About {
	if a.Started.IsZero() {
		a.Started = time.Now()
	}
	if a.Providers == nil {
		a.Providers = []Provider{}
	}
	if a.Configuration.Permissions.Rules == nil {
		a.Configuration.Permissions.Rules = map[string]string{}
	}
	return a
}

func (a About) storage() Storage {
	if a.Storage == nil {
		return Storage{Message: "sessions are not stored"}
	}
	return a.Storage()
}

// publicReason is what a UI may read of an error.
func (n *connection) publicReason(err error) string {
	if known := ui.RPCError(err); known != nil {
		return known.Message
	}
	n.api.options.Log.Warn("the agent could not be asked for the account", "err", err)
	return "the agent could not be asked; the log says more"
}

// account asks who the agent works for.
func (n *connection) account(ctx context.Context) *accountStatus {
	known, err := n.host().Account(ctx)
	told := &accountStatus{known.SignedIn, known.Login, known.Host, known.Message, []quota{}}
	if err != nil {
		told.Message = n.publicReason(err)
	}
	for _, q := range known.Quotas {
		one := quota{Name: q.Name, Used: q.Used, Limit: q.Limit, Unlimited: q.Unlimited, Remaining: q.Remaining}
		if !q.Reset.IsZero() {
			one.Reset = ui.FormatTime(q.Reset)
		}
		told.Quotas = append(told.Quotas, one)
	}
	return told
}
