package render_test

import (
	"fmt"
	"strings"
)

// basic returns the first 16 colours, of which each terminal has its own.
func basic() []string {
	return strings.Fields("#000000 #cd3131 #0dbc79 #c5a510 #2472c8 #bc3fbc #11a8cd #b5b5b5 #666666 #f14c4c #23d18b #f5f543 #3b8eea #d670d6 #29b8db #ffffff")
}

// xterm returns one of 256 colours.
func xterm(n int) string {
	switch {
	case n < 16:
		return basic()[n]
	case n > 231:
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	steps := []int{0, 95, 135, 175, 215, 255}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", steps[n/36], steps[n/6%6], steps[n%6])
}

// terminalStyles writes the styles of terminal output. Each text can be read on each
// background: in the light, texts are dark and backgrounds are light, whatever a program
// said, and in the dark the other way round. Only hues stay as they are.
func terminalStyles() string {
	var b strings.Builder
	b.WriteString("/* Terminal output. Written by a test of handlers/render (-update), which says how; do not edit. */\n")
	variables(&b, "", 0, 0.085, 0.61, 1)
	b.WriteString("@media (prefers-color-scheme: dark) {\n")
	variables(&b, "  ", 0.37, 1, 0, 0.035)
	b.WriteString("}\n\n.terminal { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--term-fg); }\n")
	b.WriteString(".term-fg1 { font-weight: 600; }\n.term-fg2 { color: var(--term-faint); }\n.term-fg3 { font-style: italic; }\n" +
		".term-fg4 { text-decoration: underline; }\n.term-fg5 { text-decoration: underline dotted; }\n.term-fg9 { text-decoration: line-through; }\n")
	for n := range 256 {
		text, back := fmt.Sprintf(".term-fgx%d", n), fmt.Sprintf(".term-bgx%d", n)
		switch {
		case n < 8:
			text, back = fmt.Sprintf(".term-fg%d, %s", 30+n, text), fmt.Sprintf(".term-bg%d, %s", 40+n, back)
		case n < 16:
			text, back = fmt.Sprintf(".term-fgi%d, %s", 82+n, text), fmt.Sprintf(".term-bgi%d, %s", 92+n, back)
		}
		for _, name := range strings.Split(text, ", ") {
			fmt.Fprintf(&b, "%s { color: var(--term-f%d); }\n", name, n)
		}
		for _, name := range strings.Split(back, ", ") {
			fmt.Fprintf(&b, "%s { background: var(--term-b%d); }\n", name, n)
		}
	}
	return b.String()
}

// variables writes all colours, of texts and of backgrounds, within bounds of luminance.
func variables(b *strings.Builder, indent string, darkestText, lightestText, darkestBack, lightestBack float64) {
	fmt.Fprintf(b, "%s:root {\n", indent)
	text := func(colour string) linear { return rgb(colour).within(darkestText, lightestText) }
	fmt.Fprintf(b, "%s  --term-fg: %s;\n", indent, rgb("#1c2127").within(2*darkestText, 1))
	fmt.Fprintf(b, "%s  --term-faint: %s;\n", indent, text("#808080"))
	for n := range 256 {
		fmt.Fprintf(b, "%s  --term-f%d: %s;\n", indent, n, text(xterm(n)))
		fmt.Fprintf(b, "%s  --term-b%d: %s;\n", indent, n, rgb(xterm(n)).within(darkestBack, lightestBack))
	}
	fmt.Fprintf(b, "%s}\n", indent)
}
