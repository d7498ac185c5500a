// Package acptest checks messages of the Agent Client Protocol against its JSON Schema, which `make acp` installs.
package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Side is an end of a connection.
type Side string

// The sides, as the schema names them.
const (
	Agent  Side = "agent"
	Client Side = "client"
)

func (s Side) other() Side {
	if s == Agent {
		return Client
	}
	return Agent
}

// Checker checks all messages of one connection. It is safe for concurrent use.
type Checker struct {
	requests, responses map[string]*jsonschema.Schema // by side that handles the method, and method

	mu      sync.Mutex
	pending map[string]string // by side that has called, and id: side that handles the method, and method
	// Checked counts the valid messages, by method.
	Checked map[string]int
	// Violations are the messages that the schema does not allow.
	Violations []string
}

// SDK returns the directory of the protocol's SDK for Node.js.
func SDK(tb testing.TB) string {
	tb.Helper()
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(file), "../../../.tools/acp/node_modules/@agentclientprotocol/sdk")
	if _, err := os.Stat(dir); err != nil {
		tb.Fatalf("run make acp (make test does it): %v", err)
	}
	return dir
}

// New returns a checker of version 1 of the protocol.
func New(tb testing.TB) *Checker {
	tb.Helper()
	c := &Checker{requests: map[string]*jsonschema.Schema{}, responses: map[string]*jsonschema.Schema{}, pending: map[string]string{}, Checked: map[string]int{}}
	if err := c.load(filepath.Join(SDK(tb), "schema/v1/schema.json")); err != nil {
		tb.Fatal(err)
	}
	return c
}

func (c *Checker) load(file string) error {
	data, err := os.ReadFile(file) //nolint:gosec // a file of the project
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("acp.json", document); err != nil {
		return err
	}
	var definitions struct {
		Defs map[string]struct {
			Method string `json:"x-method"`
			Side   string `json:"x-side"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &definitions); err != nil {
		return err
	}
	for name, d := range definitions.Defs {
		if d.Method == "" {
			continue
		}
		schema, err := compiler.Compile("acp.json#/$defs/" + name)
		if err != nil {
			return err
		}
		key := d.Side + " " + d.Method
		if strings.HasSuffix(name, "Response") {
			c.responses[key] = schema
		} else {
			c.requests[key] = schema
		}
	}
	return nil
}

// message is any message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Check checks a message of one side.
func (c *Checker) Check(from Side, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, err := c.check(from, raw)
	if err != nil {
		c.Violations = append(c.Violations, fmt.Sprintf("%s sent %.2000s\n%v", from, raw, err))
		return
	}
	c.Checked[name]++
}

func (c *Checker) check(from Side, raw []byte) (name string, err error) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", err
	}
	if m.Method == "" {
		return c.checkResponse(from, m)
	}
	key := string(from.other()) + " " + m.Method
	if m.Method == "$/cancel_request" {
		key = "protocol " + m.Method
	}
	schema := c.requests[key]
	if schema == nil {
		return "", fmt.Errorf("the protocol has no method %q that the %s serves", m.Method, from.other())
	}
	if m.ID != nil {
		c.pending[string(from)+string(m.ID)] = key
	}
	return m.Method, valid(schema, m.Params)
}

func (c *Checker) checkResponse(from Side, m message) (name string, err error) {
	id := string(from.other()) + string(m.ID)
	key, known := c.pending[id]
	if !known {
		return "", fmt.Errorf("there is no request %s", m.ID)
	}
	delete(c.pending, id)
	if m.Error != nil {
		return "error", nil
	}
	return "response to " + strings.SplitN(key, " ", 2)[1], valid(c.responses[key], m.Result)
}

func valid(schema *jsonschema.Schema, raw json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// Finish fails the test if a message was not valid.
func (c *Checker) Finish(tb testing.TB) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.Violations {
		tb.Error(v)
	}
}
