package sdk

import (
	"context"
	"sync"
	"time"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot"
)

// entry is a model with what the CLI needs to use it.
type entry struct {
	copilot.Model
	provider *Provider // nil: the vendor's own
	local    string    // the provider's id of it
}

// vendorID is how the CLI calls the model.
func (e entry) vendorID() string {
	if e.provider == nil {
		return e.ID
	}
	return e.provider.Name + "/" + e.local
}

// catalog is the list of models, asked for once in a while. Every session is
// given the whole list, so that it can change its model later.
type catalog struct {
	driver *Driver

	mu    sync.Mutex // held while asking, so that one caller asks for all
	agent *Agent     // that was asked
	until time.Time
	known []entry
	demo  *Provider // once started
}

// catalogAge is how long a list of models counts as current.
const catalogAge = time.Minute

// entries gives the models in the order in which they are shown.
func (c *catalog) entries(ctx context.Context, a *Agent) ([]entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.agent == a && time.Now().Before(c.until) {
		return c.known, nil
	}
	entries, err := c.ask(ctx, a)
	if err != nil {
		return nil, err
	}
	c.agent, c.until, c.known = a, time.Now().Add(catalogAge), entries
	return entries, nil
}

func (c *catalog) ask(ctx context.Context, a *Agent) ([]entry, error) {
	entries, err := c.vendorModels(ctx, a)
	if err != nil {
		return nil, err
	}
	for i := range c.driver.options.Providers {
		p := &c.driver.options.Providers[i]
		ids, err := p.models(ctx)
		if err != nil {
			c.driver.options.Log.Warn("a provider does not list its models", "provider", p.Name, "err", err)
		}
		for _, id := range ids {
			entries = append(entries, entry{copilot.Model{ID: p.Name + "/" + id, Name: id + " (" + p.Name + ")"}, p, id})
		}
	}
	return c.withDemo(entries)
}

// vendorModels are those of the signed-in account; none when not signed in.
func (c *catalog) vendorModels(ctx context.Context, a *Agent) ([]entry, error) {
	ok, err := a.signedIn(ctx)
	if err != nil {
		return nil, copilot.Errorf(copilot.Unavailable, "the Copilot CLI does not answer: %w", err)
	}
	if !ok {
		c.driver.setHealth(signedOut(a.version))
		return nil, nil
	}
	models, err := a.client.ListModels(ctx)
	if err != nil {
		c.driver.options.Log.Warn("the Copilot CLI does not list its models", "err", err)
		c.driver.setHealth(copilot.Health{
			State: copilot.HealthFailed, Version: a.version,
			Message: "The Copilot CLI is signed in but cannot list its models: " + err.Error(),
			Hint:    "Check the network and the subscription, then try again.",
		})
		return nil, nil
	}
	c.driver.setHealth(copilot.Health{State: copilot.HealthReady, Version: a.version})
	entries := make([]entry, 0, len(models))
	for _, m := range models {
		entries = append(entries, entry{Model: copilot.Model{ID: m.ID, Name: m.Name, Multiplier: multiplier(m)}})
	}
	return entries, nil
}

func multiplier(m vendor.ModelInfo) float64 {
	if m.Billing == nil || m.Billing.Multiplier == nil {
		return 1
	}
	return *m.Billing.Multiplier
}

// withDemo adds the scripted model where it was asked for or nothing else is there.
func (c *catalog) withDemo(entries []entry) ([]entry, error) {
	o := c.driver.options
	if o.Demo == nil || !o.DemoAlways && len(entries) > 0 {
		return entries, nil
	}
	if c.demo == nil {
		p, err := o.Demo()
		if err != nil {
			return nil, copilot.Errorf(copilot.Internal, "the demo model did not start: %w", err)
		}
		c.demo = &p
	}
	id := c.demo.Models[0]
	return append(entries, entry{copilot.Model{ID: id, Name: c.demo.Title}, c.demo, id}), nil
}

// vendorModel and portalModel translate the ids of models.
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

// providerConfig tells the CLI of all models that are not its own.
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
