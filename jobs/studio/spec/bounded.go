package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// bounded checks the syntax, limits and references of JSON before it is decoded.
func bounded(raw []byte) Faults {
	if len(raw) > maxBytes {
		return fault("is longer than %d bytes", maxBytes)
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	var faults Faults
	aliases := 0
	var ref bool // the previous token was the name $ref
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
			aliases += alias(d)
		}
		if aliases > maxAliases {
			return fault("is too large: more than %d components are mere references", maxAliases)
		}
		ref = isRef(d, token)
	}
	return faults
}

// isRef reports whether a token is the name of a reference.
func isRef(d *jsontext.Decoder, token jsontext.Token) bool {
	kind, length := d.StackIndex(d.StackDepth())
	return token.Kind() == '"' && kind == '{' && length%2 == 1 && token.String() == "$ref" && !inExample(d.StackPointer())
}

// alias returns 1 for a component that is a mere reference: the library takes quadratic time for chains of them.
func alias(d *jsontext.Decoder) int {
	const maxLevel = 3 // components, schemas, a name
	if d.StackDepth() <= maxLevel+1 && !strings.HasPrefix(string(d.StackPointer()), "/paths/") {
		return 1
	}
	return 0
}

// foreign returns the fault of a reference to another document.
func foreign(d *jsontext.Decoder, token jsontext.Token) Faults {
	if token.Kind() != '"' || strings.HasPrefix(token.String(), "#") {
		return nil
	}
	to := strconv.Quote(oneLine(token.String()))
	return Faults{{dotted(d.StackPointer()), 0, "refers to " + to + ", but nothing is fetched: put everything into one description"}}
}

// inExample reports whether a pointer is in an example, which may contain anything.
func inExample(pointer jsontext.Pointer) bool {
	for name := range pointer.Tokens() {
		if slices.Contains([]string{"example", "examples", "default", "enum", "const"}, name) {
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
		return Fault{dotted(syntax.JSONPointer), line, "is defined twice"}
	}
	return Fault{".", line, "is not JSON: " + oneLine(syntax.Err.Error())}
}

// dotted returns the path of a pointer in the notation of faults.
func dotted(pointer jsontext.Pointer) string { return joined(slices.Collect(pointer.Tokens())) }

// joined joins names to a path, with brackets around those that are not plain words.
func joined(names []string) string {
	word := regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)
	var path strings.Builder
	for _, name := range names {
		switch _, err := strconv.ParseUint(name, 10, 31); {
		case err == nil:
			path.WriteString("[" + name + "]")
		case !word.MatchString(name):
			path.WriteString("[" + strconv.Quote(oneLine(name)) + "]")
		case path.Len() == 0:
			path.WriteString(name)
		default:
			path.WriteString("." + name)
		}
	}
	return cmp.Or(path.String(), ".")
}

// keys returns the names of an object in their order, which decoding into a map loses.
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

// Fault is one error in a description.
type Fault struct {
	// Path is the place, as in `endpoints[3].method`; "." is the whole description.
	Path string
	// Line counts from 1; 0 is unknown.
	Line int
	Text string
}

// Error has the form `endpoints[3].method: is missing`, after the line if that is known.
func (f Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%d: %s: %s", f.Line, f.Path, f.Text)
}

// Faults are the errors found, at least one.
type Faults []Fault

// Error formats one fault per line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

func fault(format string, args ...any) Faults {
	return Faults{{Path: ".", Text: oneLine(fmt.Sprintf(format, args...))}}
}

// oneLine returns the start of a foreign text, on one line.
func oneLine(s string) string { return short(s, 500) }
