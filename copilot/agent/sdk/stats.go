package sdk

import "context"

// Memory is what each process of the CLI holds that lives now, by its id, in
// bytes. Where that is not known there are none.
func (d *Driver) Memory() map[int]int64 { return d.processes.Memory() }

// Path is the CLI's executable, as it is found now.
func (d *Driver) Path() (string, error) { return d.options.Locate.find() }

// Ask asks the provider for the ids of its models, whatever is configured.
func (p *Provider) Ask(ctx context.Context) ([]string, error) {
	asked := *p
	asked.Models = nil
	return asked.models(ctx)
}
