package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kindOf returns where the schema of a definition as "METHOD.params" belongs; nil for another definition.
func (d *Dialect) kindOf(definition string) (into schemas, method string) {
	if method, ok := strings.CutSuffix(definition, ".params"); ok {
		return d.params, method
	}
	if method, ok := strings.CutSuffix(definition, ".result"); ok {
		return d.results, method
	}
	return nil, ""
}

// Knows reports whether a method or a notification is described.
func (d *Dialect) Knows(method string) bool { return d.params[method] != nil }

// Check validates a message of either side by the schema of whole messages. If it is a response, Check also validates its result for
// the method answered.
func (d *Dialect) Check(message any, answered string) error {
	if err := d.message.Validate(message); err != nil {
		return err
	}
	object, _ := message.(map[string]any)
	if result, there := object["result"]; there {
		return d.checkResult(result, answered)
	}
	return nil
}

func (d *Dialect) checkResult(result any, answered string) error {
	schema, known := d.results[answered]
	if !known {
		return fmt.Errorf("it answers %q, which has no result", answered)
	}
	return schema.Validate(result)
}

// CheckCall validates a request or a notification of the portal.
func (d *Dialect) CheckCall(message any) error {
	method, _ := member(message, "method").(string)
	params, known := d.params[method]
	if !known {
		return fmt.Errorf("the method %q is not described", method)
	}
	if err := d.checkForm(message, "method", "params"); err != nil {
		return err
	}
	count(d.name, "request or notification of the portal")
	return params.Validate(member(message, "params"))
}

// CheckResponse validates a response of the portal.
func (d *Dialect) CheckResponse(message any, method string) error {
	if member(message, "error") != nil {
		return d.checkError(message, method)
	}
	if err := d.checkForm(message, "result"); err != nil {
		return err
	}
	if err := d.checkResult(member(message, "result"), method); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	count(d.name, "result of the portal")
	return nil
}

// CheckRequest validates a request of the client. Its params may have any further members.
func (d *Dialect) CheckRequest(method string, params any) error {
	if err := d.params[method].Validate(withoutNull(params)); err != nil {
		text, _ := json.Marshal(params)
		return fmt.Errorf("%s succeeds with the params %.500s: %w", method, text, err)
	}
	count(d.name, "request of the client")
	return nil
}

// withoutNull returns params without members that are null, which count as absent.
func withoutNull(params any) map[string]any {
	given, _ := params.(map[string]any)
	given = maps.Clone(given)
	maps.DeleteFunc(given, func(_ string, value any) bool { return value == nil })
	if given == nil {
		return map[string]any{}
	}
	return given
}

// CheckAnswer validates a result that the client sends.
func (d *Dialect) CheckAnswer(message any, method string) error {
	result, known := d.results[method]
	if !known || member(message, "result") == nil {
		return nil
	}
	count(d.name, "result of the client")
	return result.Validate(member(message, "result"))
}

// checkError validates an error of the portal.
func (d *Dialect) checkError(message any, method string) error {
	if err := d.checkForm(message, "error"); err != nil {
		return err
	}
	count(d.name, "error of the portal")
	failure, _ := member(message, "error").(map[string]any)
	code := number(node{value: failure["code"]})
	if text, ok := failure["message"].(string); !ok || text == "" || code == 0 {
		return errors.New("the error has no code or no message")
	}
	for name := range failure {
		if !slices.Contains([]string{"code", "message", "data"}, name) {
			return fmt.Errorf("the error has the member %q", name)
		}
	}
	if codes, described := d.codes[method]; described && !slices.Contains(append(codes, -32700, -32600, -32601), code) {
		return fmt.Errorf("%s does not have the error %d", method, code)
	}
	return nil
}

// checkForm checks that a message is one of JSON-RPC with these members.
func (d *Dialect) checkForm(message any, members ...string) error {
	object, _ := message.(map[string]any)
	for name := range object {
		if name != "jsonrpc" && name != "id" && !slices.Contains(members, name) {
			return fmt.Errorf("it has the member %q", name)
		}
	}
	if object["jsonrpc"] != "2.0" {
		return errors.New("it has no version")
	}
	if d.message == nil {
		return nil
	}
	return d.message.Validate(message)
}

// number returns an integer, or 0.
func number(n node) int {
	text, _ := n.value.(json.Number)
	i, _ := text.Int64()
	return int(i)
}

// checkAny validates a value that must fit one of several schemas.
func checkAny(all schemas, value any) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		err := all[name].Validate(value)
		if err == nil {
			return nil
		}
		faults = append(faults, fmt.Errorf("as %s: %w", name, err))
	}
	return errors.Join(faults...)
}
