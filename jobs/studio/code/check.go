package code

import "slices"

// Summary tells what code is made of.
type Summary struct {
	// Components are the names of the components, in their order; App is one of them.
	Components []string
	// Bytes is the size of the source.
	Bytes int
}

// Check tells whether the frame can run the code, and what it is made of. The error is of type Faults. It may be called
// concurrently; the time it takes is bounded by the limits of the size.
func Check(source string) (Summary, error) {
	if faults := bounded(source + Mount(source)); faults != nil {
		return Summary{}, faults
	}
	ast, faults := program(source)
	if faults != nil {
		return Summary{}, faults
	}
	if faults = scan(ast); faults != nil {
		return Summary{}, faults
	}
	names := components(ast)
	if !slices.Contains(names, app) {
		return Summary{}, fault("App is missing: define the component that is shown as function App() at the top level")
	}
	return Summary{names, len(source)}, nil
}

// Build makes plain JavaScript of code that passes Check: a script that is nothing but an IIFE and has what [Mount] adds. The
// error is that of Check.
func Build(source string) (string, error) {
	if _, err := Check(WithoutMount(source)); err != nil { // alone, or the mount could complete it
		return "", err
	}
	plain, faults := transform(source+Mount(source), script)
	if faults != nil {
		return "", faults
	}
	return plain, nil
}
