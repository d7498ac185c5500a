package sdk

import (
	"context"
	"slices"
)

// Memory is what each process of the CLI holds that lives now, by its id, in
// bytes. Where that is not known there are none.
func (d *Driver) Memory() map[int]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents = slices.DeleteFunc(d.agents, func(a *Agent) bool { return a.process.HasEnded() })
	held := make(map[int]int64, len(d.agents))
	for _, a := range d.agents {
		if bytes := a.Memory(); bytes > 0 { // it may have ended meanwhile
			held[a.process.PID()] = bytes
		}
	}
	return held
}

// note remembers an agent for Memory.
func (d *Driver) note(a *Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents = append(slices.DeleteFunc(d.agents, func(a *Agent) bool { return a.process.HasEnded() }), a)
}

// Path is the CLI's executable, as it is found now.
func (d *Driver) Path() (string, error) { return d.options.Locate.find() }

// Ask asks the provider for the ids of its models, whatever is configured.
func (p *Provider) Ask(ctx context.Context) ([]string, error) {
	asked := *p
	asked.Models = nil
	return asked.models(ctx)
}
