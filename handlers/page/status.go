package page

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/ui"
)

// About is what only the server knows about the portal. It contains no secrets.
type About struct {
	Started       time.Time       // zero: now
	Storage       func() Storage  // returns the current state; nil: nothing is stored
	Cluster       func() *Cluster // returns the current state, or nil without one; nil: there is none
	Providers     []Provider
	Configuration Configuration
}

// Cluster is the state of the portal in its cluster.
type Cluster struct {
	State   string `json:"state"`             // "ok", "disconnected" or "expired"
	Message string `json:"message,omitempty"` // what is wrong
	Node    string `json:"node"`
}

// Storage is the state of the store.
type Storage struct {
	OK        bool   `json:"ok"`                // sessions survive a restart
	Message   string `json:"message,omitempty"` // why they do not
	Directory string `json:"directory"`
	Bytes     int64  `json:"bytes,omitempty"`
}

// Provider is a configured source of models.
type Provider struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Models []string `json:"models"` // the configured ones; others come from the source
}

// Configuration is the part of the configuration that UIs show.
type Configuration struct {
	File        string      `json:"file,omitempty"` // read at the start
	Directory   string      `json:"directory"`      // of sessions whose client names none
	Model       string      `json:"model,omitempty"`
	Demo        bool        `json:"demo"`
	Terminal    bool        `json:"terminal"` // the page may open terminals
	Permissions Permissions `json:"permissions"`
}

// Permissions are the configured permissions.
type Permissions struct {
	Rest     string            `json:"rest"`
	Headless string            `json:"headless"`
	Rules    map[string]string `json:"rules"`
}

type statusResult struct {
	Version       string                `json:"version"`
	Uptime        int64                 `json:"uptime_s"`
	Agent         agentStatus           `json:"agent"`
	Agents        []otherAgent          `json:"agents"`  // besides this first one
	Account       *accountStatus        `json:"account"` // null if it was not asked for
	Pool          poolStatus            `json:"pool"`
	Sessions      map[copilot.State]int `json:"sessions"`
	Storage       Storage               `json:"storage"`
	Cluster       *Cluster              `json:"cluster,omitempty"` // absent without one
	Providers     []Provider            `json:"providers"`
	Configuration Configuration         `json:"configuration"`
}

type agentStatus struct {
	State   agent.HealthState `json:"state"`
	Version string            `json:"version"`
	Message string            `json:"message"`
	Hint    string            `json:"hint"`
}

type otherAgent struct {
	Name string `json:"name"`
	agentStatus
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

type statusParams struct {
	Refresh bool `json:"refresh"`
}

// status is portal.status. It answers even if the agent is unavailable.
func (n *connection) status(ctx context.Context, p statusParams) (any, error) {
	var account *accountStatus
	if p.Refresh { // first: this also updates the agent's health
		account = n.account(ctx)
	}
	o, health, stats := n.api.options, n.host().Health(), n.host().Stats()
	result := statusResult{
		Version: o.Version, Uptime: int64(time.Since(o.About.Started).Seconds()),
		Agent:   describeHealth(health),
		Agents:  []otherAgent{},
		Account: account, Pool: poolStatus{stats.Agents.Running, stats.Agents.Starts, stats.Agents.Deaths},
		Sessions: stats.Sessions, Storage: o.About.storage(), Cluster: o.About.cluster(), Providers: o.About.Providers, Configuration: o.About.Configuration,
	}
	for _, a := range n.host().OtherAgents() {
		result.Agents = append(result.Agents, otherAgent{a.Name, describeHealth(a.Health)})
	}
	return result, nil
}

func describeHealth(h agent.Health) agentStatus {
	return agentStatus{h.State, h.Version, h.Message, h.Hint}
}

// complete sets the defaults.
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

func (a About) cluster() *Cluster {
	if a.Cluster == nil {
		return nil
	}
	return a.Cluster()
}

// publicReason returns the part of an error that a UI may show.
func (n *connection) publicReason(err error) string {
	if known := ui.RPCError(err); known != nil {
		return known.Message
	}
	n.api.options.Log.Warn("cannot get account from agent", "err", err)
	return "the agent did not answer; see the portal's log"
}

// account asks the agent for the account it works for.
func (n *connection) account(ctx context.Context) *accountStatus {
	known, err := n.host().Account(ctx)
	encoded := &accountStatus{known.SignedIn, known.Login, known.Host, known.Message, []quota{}}
	if err != nil {
		encoded.Message = n.publicReason(err)
	}
	for _, q := range known.Quotas {
		encoded.Quotas = append(encoded.Quotas, quota{
			Name: q.Name, Used: q.Used, Limit: q.Limit, Unlimited: q.Unlimited, Remaining: q.Remaining, Reset: event.FormatTime(q.Reset),
		})
	}
	return encoded
}
