package contract

import (
	"errors"
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
	ui         = sync.OnceValues(parseUI)
	rpc        = sync.OnceValues(parseRPC)
	stream     = sync.OnceValues(func() (schemas, error) { return parseChannel("streams.asyncapi.yaml", "stream") })
	operations = sync.OnceValues(func() (schemas, error) { return parseChannel("operations.asyncapi.yaml", "watch") })
)

// UI returns the dialect of /ui and `portal stdio`: spec/ui.schema.json.
func UI() (*Dialect, error) { return ui() }

// RPC returns the dialect of /rpc: the methods of spec/openrpc.json and the notifications of spec/streams.asyncapi.yaml.
func RPC() (*Dialect, error) { return rpc() }

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
	if name == "openrpc.json" {
		addParams(root)
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

// parseRPC joins the methods of OpenRPC and the notifications of AsyncAPI.
func parseRPC() (*Dialect, error) {
	p, err := read("openrpc.json")
	if err != nil {
		return nil, err
	}
	d := &Dialect{name: "openrpc.json", results: schemas{}, codes: map[string][]int{}}
	if d.params, err = parseChannel("streams.asyncapi.yaml", "rpc"); err != nil {
		return nil, err
	}
	for _, method := range p.items(p.at(node{"", p.root}, "methods")) {
		name := text(p.at(method, "name"))
		var errParams, errResult error
		d.params[name], errParams = p.compile(node{pointer: method.pointer + "/" + paramsSchema})
		d.results[name], errResult = p.compile(p.at(method, "result", "schema"))
		if err := errors.Join(errParams, errResult); err != nil {
			return nil, err
		}
		for _, e := range p.items(p.at(method, "errors")) {
			d.codes[name] = append(d.codes[name], number(p.at(e, "code")))
		}
	}
	return d, nil
}

// paramsSchema is where [addParams] adds a schema.
const paramsSchema = "x-params"

// addParams adds to every method of an OpenRPC document one schema of its params, which the document describes one by one.
func addParams(root any) {
	methods, _ := member(root, "methods").([]any)
	for _, method := range methods {
		properties, required := map[string]any{}, []any{}
		list, _ := member(method, "params").([]any)
		for _, param := range list {
			name, _ := member(param, "name").(string)
			properties[name] = member(param, "schema")
			if member(param, "required") == true {
				required = append(required, name)
			}
		}
		if object, ok := method.(map[string]any); ok {
			object[paramsSchema] = map[string]any{"type": "object", "properties": properties, "required": required}
		}
	}
}
