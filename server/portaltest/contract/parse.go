package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// location is the address of the document for the compiler.
const location = "mem:///contract.json"

// Parse compiles an OpenAPI document in YAML.
func Parse(text []byte) (*Contract, error) {
	root, err := decode(text)
	if err != nil {
		return nil, err
	}
	p, err := newParser(root)
	if err != nil {
		return nil, err
	}
	return p.contract()
}

// decode reads a document in YAML or JSON.
func decode(text []byte) (any, error) {
	var decoded any
	if err := yaml.Unmarshal(text, &decoded); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(decoded)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(encoded)) // keeps numbers as the compiler needs them
}

type parser struct {
	root     any
	compiler *jsonschema.Compiler
}

func newParser(root any) (parser, error) {
	p := parser{root: root, compiler: jsonschema.NewCompiler()}
	p.compiler.DefaultDraft(jsonschema.Draft2020)
	p.compiler.AssertFormat()
	return p, p.compiler.AddResource(location, root)
}

// compile compiles a schema of the document.
func (p parser) compile(n node) (*jsonschema.Schema, error) {
	return p.compiler.Compile(location + "#" + (&url.URL{Fragment: n.pointer}).EscapedFragment())
}

// node is a value of the document with its JSON pointer.
type node struct {
	pointer string
	value   any
}

// at returns a member of a node, with its reference resolved. The value of a missing member is nil.
func (p parser) at(n node, keys ...string) node {
	for _, key := range keys {
		escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		n = p.resolved(node{n.pointer + "/" + escaped, member(n.value, key)})
	}
	return n
}

// resolved follows the reference of a node. One beside other members belongs to a schema.
func (p parser) resolved(n node) node {
	ref, ok := member(n.value, "$ref").(string)
	if object, _ := n.value.(map[string]any); !ok || len(object) != 1 {
		return n
	}
	target := node{"", p.root}
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		target = node{target.pointer + "/" + key, member(target.value, key)}
	}
	return target
}

func member(value any, key string) any {
	switch value := value.(type) {
	case map[string]any:
		return value[key]
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i < len(value) {
			return value[i]
		}
	}
	return nil
}

func keys(n node) []string {
	object, _ := n.value.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

func (p parser) items(n node) []node {
	list, _ := n.value.([]any)
	items := make([]node, len(list))
	for i := range list {
		items[i] = p.at(n, strconv.Itoa(i))
	}
	return items
}

func text(n node) string {
	s, _ := n.value.(string)
	return s
}

func (p parser) contract() (*Contract, error) {
	var c Contract
	paths := p.at(node{"", p.root}, "paths")
	for _, path := range keys(paths) {
		item := p.at(paths, path)
		for _, method := range []string{"delete", "get", "patch", "post", "put"} {
			operation := p.at(item, method)
			if operation.value == nil {
				continue
			}
			r, err := p.route(item, operation)
			if err != nil {
				return nil, err
			}
			for _, server := range p.servers(item) {
				one := *r
				one.Method, one.Path = strings.ToUpper(method), strings.TrimSuffix(server, "/")+path
				c.routes = append(c.routes, &one)
			}
		}
	}
	slices.SortFunc(c.routes, func(a, b *Route) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method)) })
	return &c, nil
}

func (p parser) servers(item node) []string {
	var list []string
	for _, server := range p.items(p.at(item, "servers")) {
		list = append(list, text(p.at(server, "url")))
	}
	if len(list) == 0 {
		return []string{"/"}
	}
	return list
}

func (p parser) route(item, operation node) (*Route, error) {
	r := &Route{Security: p.security(operation), responses: map[int]response{}}
	for _, parameter := range append(p.items(p.at(item, "parameters")), p.items(p.at(operation, "parameters"))...) {
		if text(p.at(parameter, "in")) == "query" {
			r.query = append(r.query, text(p.at(parameter, "name")))
		}
	}
	for _, name := range r.Security {
		if scheme := p.at(node{"", p.root}, "components", "securitySchemes", name); text(p.at(scheme, "in")) == "query" {
			r.query = append(r.query, text(p.at(scheme, "name")))
		}
	}
	content, err := p.content(p.at(operation, "requestBody"))
	if err != nil {
		return nil, err
	}
	r.request = content["application/json"]
	_, r.takesText = content["text/plain"]
	responses := p.at(operation, "responses")
	for _, key := range keys(responses) {
		status, err := strconv.Atoi(key)
		if err != nil {
			return nil, fmt.Errorf("%s: status %q", responses.pointer, key)
		}
		if r.responses[status], err = p.content(p.at(responses, key)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// security returns the names of the schemes of an operation, by default those of the document.
func (p parser) security(operation node) []string {
	list := p.at(operation, "security")
	if list.value == nil {
		list = p.at(node{"", p.root}, "security")
	}
	var names []string
	for _, requirement := range p.items(list) {
		names = append(names, strings.Join(keys(requirement), " "))
	}
	return names
}

// content compiles the schemas of a request body or a response.
func (p parser) content(of node) (response, error) {
	all := response{}
	content := p.at(of, "content")
	for _, kind := range keys(content) {
		all[kind] = nil
		if kind != "application/json" && !strings.HasSuffix(kind, "+json") {
			continue
		}
		schema, err := p.compile(node{pointer: p.at(content, kind).pointer + "/schema"})
		if err != nil {
			return nil, err
		}
		all[kind] = schema
	}
	return all, nil
}
