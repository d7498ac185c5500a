// Package code checks and builds the user interfaces that a model writes: one self-contained React component in JSX or TSX
// that uses a global React, imports and exports nothing, and defines App. Nothing here runs code.
//
// The scan of [Check] helps honest models: it reports early what would not work in the frame. It is not a security boundary. That
// is the frame: sandbox="allow-scripts" without the portal's origin, and a strict Content-Security-Policy.
package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// Check checks whether the frame can run the code, and returns the names of its components in order; App is one of them. The
// error is of type [Faults]. The size limits bound its time. It may be called concurrently.
func Check(source string) ([]string, error) {
	if faults := bounded(source + Mount(source)); faults != nil {
		return nil, faults
	}
	ast, faults := program(source)
	if faults != nil {
		return nil, faults
	}
	s := &scanner{globals: refusedGlobals(), properties: refusedProperties(), ofDocument: refusedOfDocument()}
	if js.Walk(s, ast); s.faults != nil {
		return nil, s.faults
	}
	names := components(ast)
	if !slices.Contains(names, app) {
		return nil, fault("App is missing: define the component that is shown as function App() at the top level")
	}
	return names, nil
}

// Build compiles code that passes [Check] to plain JavaScript: one IIFE that includes [Mount]. The error is that of Check.
func Build(source string) (string, error) {
	if _, err := Check(WithoutMount(source)); err != nil { // alone, because the mount could complete it
		return "", err
	}
	plain, faults := transform(source+Mount(source), script)
	if faults != nil {
		return "", faults
	}
	return plain, nil
}

// Fault is one mistake in code.
type Fault struct {
	// Line and Column count from 1; 0 is unknown. Faults of the scan have none, but quote the code.
	Line, Column int
	Text         string
}

// Error has the form `12:5: Unexpected ")"`.
func (f Fault) Error() string {
	if f.Line == 0 {
		return f.Text
	}
	return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Text)
}

// Faults are the mistakes found, at least one.
type Faults []Fault

// Error has a line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

func fault(format string, args ...any) Faults {
	return Faults{{Text: fmt.Sprintf(format, args...)}}
}

// mount follows the code of a component. The assignment keeps App where esbuild drops unused code. It declares no names,
// which could collide, and starts a new statement whatever precedes it.
const mount = `
// For the page around: the component, which renders itself where React, ReactDOM and an element with the id root are there.
;window.__GeneratedComponent = App;
if (typeof React !== "undefined" && typeof ReactDOM !== "undefined" && document.getElementById("root")) {
  ReactDOM.createRoot(document.getElementById("root")).render(React.createElement(App));
}
`

// Mount returns the code that must follow source: it assigns the component to
// window.__GeneratedComponent, and renders it if React and ReactDOM are globals and an element has the id root. It
// returns "" if source already ends with it.
func Mount(source string) string {
	switch {
	case strings.HasSuffix(strings.TrimRight(source, " \n"), strings.TrimSpace(mount)):
		return ""
	case strings.HasSuffix(source, "\n"):
		return mount
	}
	return "\n" + mount
}

// WithoutMount returns source without what [Mount] added.
func WithoutMount(source string) string {
	trimmed := strings.TrimRight(source, " \n")
	if rest, ok := strings.CutSuffix(trimmed, strings.TrimSpace(mount)); ok {
		return strings.TrimRight(rest, "\n") + "\n"
	}
	return source
}
