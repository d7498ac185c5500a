package sdk

import "context"

// Memory returns the memory of each running CLI process, in bytes by process id; empty if unknown.
func (d *Driver) Memory() map[int]int64 { return d.processes.Memory() }

// Path returns the current path of the CLI's executable.
func (d *Driver) Path() (string, error) { return d.options.Locate.find() }

// Ask requests the ids of the provider's models, even if some are configured.
func (p *Provider) Ask(ctx context.Context) ([]string, error) {
	asked := *p
	asked.Models = nil
	return asked.models(ctx)
}
