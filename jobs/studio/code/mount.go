package code

import "strings"

// mount follows the code of a component. The assignment keeps App alive where esbuild makes an IIFE of the code and drops what
// nobody uses; a page that has React, ReactDOM and a root needs nothing else. It declares no names, which could be taken, and begins
// a statement of its own whatever stands before it.
const mount = `
// For the page around: the component, which renders itself where React, ReactDOM and an element with the id root are there.
;window.__GeneratedComponent = App;
if (typeof React !== "undefined" && typeof ReactDOM !== "undefined" && document.getElementById("root")) {
  ReactDOM.createRoot(document.getElementById("root")).render(React.createElement(App));
}
`

// Mount gives what has to follow source so that the component reaches the page around: it is assigned to
// window.__GeneratedComponent, and renders itself where React and ReactDOM are globals and an element has the id root. "" if
// source ends with that already.
func Mount(source string) string {
	switch {
	case strings.HasSuffix(strings.TrimRight(source, " \n"), strings.TrimSpace(mount)):
		return ""
	case strings.HasSuffix(source, "\n"):
		return mount
	}
	return "\n" + mount
}

// WithoutMount gives source without what [Mount] has added, for whoever changes it.
func WithoutMount(source string) string {
	trimmed := strings.TrimRight(source, " \n")
	if rest, ok := strings.CutSuffix(trimmed, strings.TrimSpace(mount)); ok {
		return strings.TrimRight(rest, "\n") + "\n"
	}
	return source
}
