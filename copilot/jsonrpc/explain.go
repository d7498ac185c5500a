package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Explain describes a JSON decoding error in terms of JSON instead of Go. whole names the decoded value.
func Explain(err error, whole string) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err.Error()
	}
	what := whole
	if wrong.Field != "" {
		what = fmt.Sprintf("%q", wrong.Field)
	}
	return fmt.Sprintf("%s must be %s, not %s", what, wanted(wrong.Type), found(wrong.Value))
}

// wanted returns the JSON name of a Go type.
func wanted(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // other types have no better name than their own
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return t.String()
}

// found returns the JSON type that encoding/json found.
func found(value string) string {
	switch value {
	case "bool":
		return "a boolean"
	case "string", "number":
		return "a " + value
	case "array", "object":
		return "an " + value
	}
	return value // such as "number 1.5"
}
