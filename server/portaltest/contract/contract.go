// Package contract validates what tests exchange with the portal against the machine-readable contracts in spec/: plain HTTP ([Check]),
// conversations in JSON-RPC ([Conversation]), server-sent events ([Stream]) and WebSockets ([Socket]).
//
// If the environment variable CONTRACT_COUNTS names a file, every validated message adds a line with its document and its kind.
package contract

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/copilot-portal/portal/spec"
)

// Contract is an OpenAPI document with its schemas compiled. It is safe for concurrent use.
type Contract struct {
	routes []*Route
}

// Route is an operation of the document at one of its addresses.
type Route struct {
	Method   string
	Path     string   // with parameters in braces
	Security []string // the schemes that it accepts; "" for none

	query     []string // names of parameters
	request   *jsonschema.Schema
	takesText bool // a body that is no object is text
	responses map[int]response
}

// response has the schemas of bodies by media type, nil for those that are not JSON. There is none if the body is empty.
type response map[string]*jsonschema.Schema

// Exchange is a request and its response.
type Exchange struct {
	Method, Path string // the path is escaped, below the base path, and may have a query
	Request      string // body
	Status       int
	Type         string // of the response, as in its header
	Response     string // body
}

var shared = sync.OnceValues(func() (*Contract, error) { //nolint:gochecknoglobals // compiled once for all tests of a process
	text, err := spec.Files.ReadFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	return Parse(text)
})

// Check fails the test if an exchange violates the contract of its route. It accepts requests that no contract describes.
func Check(tb testing.TB, e Exchange) {
	tb.Helper()
	kind, _, _ := mime.ParseMediaType(e.Type)
	switch {
	case kind == "text/event-stream" && strings.HasPrefix(e.Path, "/stream/"):
		_, _ = NewStream(tb).Write([]byte(e.Response))
		return
	case e.Path == "/rpc" && e.Status == http.StatusOK && e.Method == http.MethodPost:
		talks := Talk(tb, e.Path)
		talks.Sent([]byte(e.Request))
		talks.Received([]byte(e.Response))
		return
	}
	c, err := shared()
	if err == nil {
		err = c.Check(e)
	}
	if err != nil {
		tb.Errorf("spec/openapi.yaml: %v", err)
	}
}

// Routes lists the routes by path and method.
func (c *Contract) Routes() []*Route { return slices.Clone(c.routes) }

// Check returns how an exchange violates the document, with its path and status. It accepts requests that the document does not describe.
func (c *Contract) Check(e Exchange) error {
	target, err := url.Parse(e.Path)
	if err != nil {
		return nil //nolint:nilerr // no route has such a path
	}
	r := c.find(e.Method, target.EscapedPath())
	if r == nil || e.Status == http.StatusSeeOther { // the guard exchanges tokens on every path
		return nil
	}
	count("openapi.yaml", "exchange")
	if err := cmp.Or(r.checkResponse(e), r.checkRequest(e, target.Query())); err != nil {
		return fmt.Errorf("%s %s, status %d: %w", e.Method, e.Path, e.Status, err)
	}
	return nil
}

// find returns the route of a request, or nil. Routes are sorted so that names come before parameters.
func (c *Contract) find(method, path string) *Route {
	for _, r := range c.routes {
		if r.Method == method && matches(r.Path, path) {
			return r
		}
	}
	return nil
}

func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || strings.HasPrefix(want, "{") && got != ""
	})
}

func (r *Route) checkResponse(e Exchange) error {
	content, ok := r.responses[e.Status]
	if !ok {
		return errors.New("the status is not described")
	}
	if len(content) == 0 && e.Response == "" {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(e.Type)
	schema, ok := content[kind]
	if !ok {
		return fmt.Errorf("the media type %q is not described", kind)
	}
	return validate(schema, "the response", e.Response)
}

// checkRequest checks a request that was successful; others may be invalid.
func (r *Route) checkRequest(e Exchange, query url.Values) error {
	if e.Status >= http.StatusBadRequest || isError(e.Response) {
		return nil
	}
	for name := range query {
		if !slices.Contains(r.query, name) {
			return fmt.Errorf("the query parameter %q is not described", name)
		}
	}
	if body := strings.TrimSpace(e.Request); body == "" || r.takesText && !strings.HasPrefix(body, "{") {
		return nil
	}
	return validate(r.request, "the request", e.Request)
}

// isError reports whether a body is an error that has a name.
func isError(body string) bool {
	value, _ := jsonschema.UnmarshalJSON(strings.NewReader(body))
	object, _ := value.(map[string]any)
	_, failed := object["error"].(string)
	return failed && len(object) == 1
}

// validate checks a body. It accepts everything if there is no schema.
func validate(schema *jsonschema.Schema, what, body string) error {
	if schema == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		return fmt.Errorf("%s %.500s: %w", what, body, err)
	}
	return nil
}
