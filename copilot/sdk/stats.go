package sdk

import (
	"context"
	"slices"
)

// PIDs are the processes of the CLI that live now.
func (d *Driver) PIDs() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents = slices.DeleteFunc(d.agents, func(a *Agent) bool { return a.process.hasEnded() })
	var pids []int
	for _, a := range d.agents {
		pids = append(pids, a.process.pid())
	}
	return pids
}

// note remembers an agent for PIDs.
func (d *Driver) note(a *Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents = append(slices.DeleteFunc(d.agents, func(a *Agent) bool { return a.process.hasEnded() }), a)
}

// Path is the CLI's executable, as it is found now.
func (d *Driver) Path() (string, error) { return d.options.Locate.find() }

// Ask asks the provider for the ids of its models, whatever is configured.
func (p *Provider) Ask(ctx context.Context) ([]string, error) {
	asked := *p
	asked.Models = nil
	return asked.models(ctx)
}
