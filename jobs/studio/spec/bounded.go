package spec

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// bounded goes through JSON before anything is made of it: its syntax, its limits, and references to elsewhere.
func bounded(raw []byte) Faults {
	if len(raw) > maxBytes {
		return fault("is longer than %d bytes", maxBytes)
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	var faults Faults
	var ref bool // the token before was the name $ref
	for values := 0; len(faults) < maxFaults; values++ {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(faults, syntaxFault(raw, err))
		}
		if values > maxValues || d.StackDepth() > maxDepth {
			return fault("is too large: more than %d values, or nested deeper than %d", maxValues, maxDepth)
		}
		if ref {
			faults = append(faults, foreign(d, token)...)
		}
		ref = isRef(d, token)
	}
	return faults
}

// isRef tells whether a token is the name of a reference.
func isRef(d *jsontext.Decoder, token jsontext.Token) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return token.Kind() == '"' && kind == '{' && length%2 == 1 && token.String() == "$ref" && !inExample(d.StackPointer())
}

// foreign is the fault of a reference that leads elsewhere.
func foreign(d *jsontext.Decoder, token jsontext.Token) Faults {
	if token.Kind() != '"' || strings.HasPrefix(token.String(), "#") {
		return nil
	}
	to := strconv.Quote(oneLine(token.String()))
	return Faults{{dotted(d.StackPointer()), 0, "refers to " + to + ", but nothing is fetched: put everything into one description"}}
}

// inExample tells whether a place is in an example, where anything may stand.
func inExample(place jsontext.Pointer) bool {
	for name := range place.Tokens() {
		switch name {
		case "example", "examples", "default", "enum", "const":
			return true
		}
	}
	return false
}

func syntaxFault(raw []byte, err error) Fault {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return Fault{Path: ".", Text: "is not JSON: " + oneLine(err.Error())}
	}
	line := 1 + bytes.Count(raw[:min(len(raw), int(syntax.ByteOffset))], []byte("\n"))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return Fault{dotted(syntax.JSONPointer), line, "is there twice"}
	}
	return Fault{".", line, "is not JSON: " + oneLine(syntax.Err.Error())}
}

// dotted is the path of a place, in the form of faults.
func dotted(place jsontext.Pointer) string {
	var names []string
	for name := range place.Tokens() {
		names = append(names, name)
	}
	return joined(names)
}

// joined writes names that are no plain words in brackets.
func joined(names []string) string {
	var path strings.Builder
	for _, name := range names {
		switch _, err := strconv.ParseUint(name, 10, 31); {
		case err == nil:
			path.WriteString("[" + name + "]")
		case !isWord(name):
			path.WriteString("[" + strconv.Quote(oneLine(name)) + "]")
		case path.Len() == 0:
			path.WriteString(name)
		default:
			path.WriteString("." + name)
		}
	}
	if path.Len() == 0 {
		return "."
	}
	return path.String()
}

func isWord(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_$-]+$`).MatchString(name)
}

// keys are the names of an object, in their order, which decoding into a map loses.
func keys(raw []byte, path ...string) []string {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if d.PeekKind() != '{' {
		return nil
	}
	var names []string
	_, _ = d.ReadToken()
	for d.PeekKind() == '"' {
		name, _ := d.ReadToken()
		key := name.String()
		value, err := d.ReadValue()
		switch {
		case err != nil:
			return nil
		case len(path) == 0:
			names = append(names, key)
		case key == path[0]:
			return keys(value, path[1:]...)
		}
	}
	return names
}
