package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// entry is a model with the data that the CLI needs to use it.
type entry struct {
	agent.Model
	provider *Provider // nil means the vendor
	local    string    // the provider's own id
}

// vendorID returns the CLI's name of the model.
func (e entry) vendorID() string {
	if e.provider == nil {
		return e.ID
	}
	return e.provider.Name + "/" + e.local
}

// catalog caches the models of an agent. Every session gets the complete list, so that it can change its
// model later.
type catalog struct {
	agent *Agent
	lock  chan struct{} // has one while it is held: during queries, so that concurrent callers share one

	until time.Time
	known []entry
}

// How long a list of models is current: a complete one, and one from which a source is missing.
const (
	catalogAge   = time.Minute
	catalogRetry = 5 * time.Second
)

// entries returns the models in the order in which they are shown.
func (c *catalog) entries(ctx context.Context) ([]entry, error) {
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.agent.process.HasEnded() {
		return nil, errEnded
	}
	if time.Now().Before(c.until) {
		return c.known, nil
	}
	entries, complete, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	age := catalogRetry
	if complete {
		age = catalogAge
	}
	c.until, c.known = time.Now().Add(age), entries
	return entries, nil
}

// ask queries all sources concurrently, so that a slow one does not delay the others.
func (c *catalog) ask(ctx context.Context) (entries []entry, complete bool, err error) {
	providers := c.agent.driver.options.Providers
	lists, faults := make([][]entry, len(providers)), make([]error, len(providers))
	var asking sync.WaitGroup
	for i := range providers {
		asking.Go(func() { lists[i], faults[i] = c.providerModels(ctx, &providers[i]) })
	}
	own, complete, err := c.vendorModels(ctx)
	asking.Wait()
	if err == nil {
		err = ctx.Err() // the caller gave up; that does not mean that something is missing
	}
	if err != nil {
		return nil, false, err
	}
	entries = slices.Concat(append([][]entry{own}, lists...)...)
	if entries, err = c.withDemo(entries); err != nil {
		return nil, false, err
	}
	problem := errors.Join(faults...)
	if len(entries) == 0 && problem != nil {
		return nil, false, fault.Errorf(fault.Unavailable, "there is no model to choose: %w", problem)
	}
	return entries, complete && problem == nil, nil
}

func (c *catalog) providerModels(ctx context.Context, p *Provider) ([]entry, error) {
	ids, err := p.models(ctx)
	if err != nil {
		c.agent.driver.options.Log.Warn("cannot list the models of a provider", "provider", p.Name, "err", err)
		err = fmt.Errorf("the provider %s lists no models (%w)", p.Name, err)
	}
	entries := make([]entry, 0, len(ids))
	for _, id := range ids {
		entries = append(entries, entry{agent.Model{ID: p.Name + "/" + id, Name: id + " (" + p.Name + ")"}, p, id})
	}
	return entries, err
}

// vendorModels returns the models of the account; none if not signed in.
func (c *catalog) vendorModels(ctx context.Context) (entries []entry, complete bool, err error) {
	a, d := c.agent, c.agent.driver
	if d.options.WithoutAccount {
		return nil, true, nil
	}
	ok, err := a.signedIn(ctx)
	if err != nil {
		return nil, false, fault.Errorf(fault.Unavailable, "the Copilot CLI does not answer: %w", err)
	}
	if !ok {
		d.last.Set(d.signedOut(a.version))
		return nil, true, nil
	}
	models, err := fetch(ctx, a, callTimeout, a.client.ListModels)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil {
		d.options.Log.Warn("cannot list the models of the Copilot CLI", "err", err)
		d.last.Set(unlisted(a.version, err))
		return nil, false, nil
	}
	d.last.Set(agent.Health{State: agent.HealthReady, Version: a.version})
	for _, m := range models {
		entries = append(entries, entry{Model: agent.Model{
			ID: m.ID, Name: m.Name, Multiplier: multiplier(m), Context: contextWindow(m), Vision: m.Capabilities.Supports.Vision,
		}})
	}
	return entries, true, nil
}

func multiplier(m vendor.ModelInfo) float64 {
	if m.Billing == nil || m.Billing.Multiplier == nil {
		return 1
	}
	return *m.Billing.Multiplier
}

func contextWindow(m vendor.ModelInfo) int64 {
	if tokens := m.Capabilities.Limits.MaxContextWindowTokens; tokens != nil {
		return int64(*tokens)
	}
	return 0
}

// withDemo adds the scripted model if configured, or if there is no other.
func (c *catalog) withDemo(entries []entry) ([]entry, error) {
	o := c.agent.driver.options
	if o.Demo == nil || !o.DemoAlways && len(entries)+len(o.Providers) > 0 {
		return entries, nil
	}
	p, err := o.Demo()
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "the demo model did not start: %w", err)
	}
	id := p.Models[0]
	return append(entries, entry{agent.Model{ID: id, Name: p.Title}, &p, id}), nil
}

// vendorModel and portalModel convert the ids of models.
func vendorModel(entries []entry, id string) string {
	for _, e := range entries {
		if e.ID == id {
			return e.vendorID()
		}
	}
	return id
}

func portalModel(entries []entry, id string) string {
	for _, e := range entries {
		if e.vendorID() == id {
			return e.ID
		}
	}
	return id
}

// calledModel returns the portal's id of a model from its provider's id. If several match, it returns the
// current model if that is one of them, otherwise "".
func calledModel(entries []entry, current, local string) string {
	var found []string
	for _, e := range entries {
		if e.local != local && e.ID != local {
			continue
		}
		if e.ID == current {
			return current
		}
		found = append(found, e.ID)
	}
	if len(found) == 1 {
		return found[0]
	}
	return local
}

// providerConfig describes all models to the CLI that are not its own.
func providerConfig(entries []entry) ([]vendor.NamedProviderConfig, []vendor.ProviderModelConfig) {
	var providers []vendor.NamedProviderConfig
	var models []vendor.ProviderModelConfig
	seen := map[string]bool{}
	for _, e := range entries {
		if e.provider == nil {
			continue
		}
		if !seen[e.provider.Name] {
			seen[e.provider.Name] = true
			providers = append(providers, e.provider.config())
		}
		models = append(models, vendor.ProviderModelConfig{ID: e.local, Provider: e.provider.Name, Name: e.Name})
	}
	return providers, models
}
