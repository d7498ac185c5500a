package render

import (
	"strconv"
	"strings"
)

// styles returns the parameters of a style sequence that the screen supports: a 24-bit
// color becomes the nearest of 256, and parameters that the screen would misread are
// omitted.
func styles(params string) []string {
	in := strings.FieldsFunc(strings.ReplaceAll(params, "::", ":"), func(r rune) bool { return r == ';' })
	if len(in) == 0 {
		return []string{"0"}
	}
	out := make([]string, 0, len(in))
	for len(in) > 0 {
		var style []string
		style, in = oneStyle(in)
		out = append(out, style...)
	}
	return out
}

// oneStyle reads one style, and returns the rest.
func oneStyle(in []string) (style, rest []string) {
	first, rest := strings.Split(in[0], ":"), in[1:]
	code, err := strconv.ParseUint(first[0], 10, 8)
	if err != nil {
		return nil, rest
	}
	if code != 38 && code != 48 && code != 58 {
		return []string{strconv.FormatUint(code, 10)}, rest
	}
	args := first[1:]
	if len(args) == 0 {
		args = rest
		rest = rest[min(len(rest), colorArgs(rest)):]
	}
	color, ok := paletteColor(args)
	if !ok || code == 58 { // of the underline
		return nil, rest
	}
	return []string{strconv.FormatUint(code, 10), "5", strconv.Itoa(color)}, rest
}

// colorArgs returns the number of parameters of a color.
func colorArgs(args []string) int {
	switch {
	case len(args) > 0 && args[0] == "5":
		return 2
	case len(args) > 0 && args[0] == "2":
		return 4
	}
	return 1
}

// paletteColor returns the index of one of 256 colors.
func paletteColor(args []string) (int, bool) {
	var values [4]uint64
	if len(args) < colorArgs(args) || len(args) < 2 {
		return 0, false
	}
	for i := range colorArgs(args) {
		value, err := strconv.ParseUint(args[i], 10, 8)
		if err != nil {
			return 0, false
		}
		values[i] = value
	}
	if values[0] == 5 {
		return int(values[1]), true //nolint:gosec // at most 255
	}
	return 16 + 36*step(values[1]) + 6*step(values[2]) + step(values[3]), values[0] == 2
}

// step returns the nearest of the six levels of the palette's color cube.
func step(value uint64) int {
	switch {
	case value < 48:
		return 0
	case value < 115:
		return 1
	}
	return int(value-35) / 40 //nolint:gosec // at most 5
}
