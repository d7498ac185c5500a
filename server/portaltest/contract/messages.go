package contract

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/copilot-portal/portal/spec"
)

// Dialect has the schemas of a dialect of JSON-RPC, compiled. It is safe for concurrent use.
type Dialect struct {
	name    string                        // of its document
	message *jsonschema.Schema            // of a whole message; nil if there is none
	params  map[string]*jsonschema.Schema // by method, of requests and notifications
	results map[string]*jsonschema.Schema // by method
	codes   map[string][]int              // of errors, by method; none if they are not described
}

//nolint:gochecknoglobals // compiled once for all tests of a process
var (
	// UI returns the dialect of /ui and `portal stdio`: spec/ui.schema.json.
	UI = sync.OnceValues(parseUI)
	// RPC returns the dialect of /rpc: the methods of spec/openrpc.json and the notifications of spec/streams.asyncapi.yaml.
	RPC = sync.OnceValues(func() (*Dialect, error) { return parseOpenRPC("openrpc.json", "rpc") })
	// CLI returns the dialect of `portal cli`: the methods of spec/cli.openrpc.json and the notifications of spec/streams.asyncapi.yaml.
	CLI = sync.OnceValues(func() (*Dialect, error) { return parseOpenRPC("cli.openrpc.json", "cli") })

	stream     = sync.OnceValues(func() (schemas, error) { return parseChannel("streams.asyncapi.yaml", "stream") })
	terminal   = sync.OnceValues(func() (schemas, error) { return parseChannel("streams.asyncapi.yaml", "terminal") })
	operations = sync.OnceValues(func() (schemas, error) { return parseChannel("operations.asyncapi.yaml", "watch") })
)

// Methods lists the methods and notifications, and those that have a result.
func (d *Dialect) Methods() (all, answered []string) {
	return slices.Sorted(maps.Keys(d.params)), slices.Sorted(maps.Keys(d.results))
}

// schemas are schemas by name.
type schemas = map[string]*jsonschema.Schema

func read(name string) (parser, error) {
	text, err := spec.Files.ReadFile(name)
	if err != nil {
		return parser{}, err
	}
	root, err := decode(text)
	if err != nil {
		return parser{}, err
	}
	return newParser(root)
}

// parseChannel compiles the payloads of the messages of a channel of an AsyncAPI document.
func parseChannel(name, channel string) (schemas, error) {
	p, err := read(name)
	if err != nil {
		return nil, err
	}
	all := schemas{}
	messages := p.at(node{"", p.root}, "channels", channel, "messages")
	for _, key := range keys(messages) {
		if all[key], err = p.compile(p.at(messages, key, "payload")); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: the channel %q has no messages", name, channel)
	}
	return all, nil
}

func parseUI() (*Dialect, error) {
	p, err := read("ui.schema.json")
	if err != nil {
		return nil, err
	}
	d := &Dialect{name: "ui.schema.json", params: schemas{}, results: schemas{}}
	if d.message, err = p.compile(node{}); err != nil {
		return nil, err
	}
	defs := p.at(node{"", p.root}, "$defs")
	for _, key := range keys(defs) {
		into, method := d.kindOf(key)
		if into == nil {
			continue
		}
		if into[method], err = p.compile(p.at(defs, key)); err != nil {
			return nil, err
		}
	}
	return d, nil
}
