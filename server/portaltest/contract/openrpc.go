package contract

import (
	"errors"
	"strings"

	"github.com/copilot-portal/portal/spec"
)

// parseOpenRPC joins the methods of an OpenRPC document and the notifications of a channel.
func parseOpenRPC(name, channel string) (*Dialect, error) {
	p, err := readOpenRPC(name)
	if err != nil {
		return nil, err
	}
	d := &Dialect{name: name, results: schemas{}, codes: map[string][]int{}}
	if d.params, err = parseChannel("streams.asyncapi.yaml", channel); err != nil {
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

// readOpenRPC reads an OpenRPC document. Methods may be references to those of openrpc.json.
func readOpenRPC(name string) (parser, error) {
	var roots [2]any
	for i, file := range []string{name, "openrpc.json"} {
		text, err := spec.Files.ReadFile(file)
		if err == nil {
			roots[i], err = decode(text)
		}
		if err != nil {
			return parser{}, err
		}
	}
	root, _ := roots[0].(map[string]any)
	methods, _ := root["methods"].([]any)
	for i, method := range methods {
		ref, _ := member(method, "$ref").(string)
		if index, ok := strings.CutPrefix(ref, "openrpc.json#/methods/"); ok {
			methods[i] = member(member(roots[1], "methods"), index)
			root["components"] = member(roots[1], "components")
		}
	}
	addParams(root)
	return newParser(root)
}
