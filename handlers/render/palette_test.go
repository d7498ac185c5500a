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

// terminalStyles writes the styles of terminal output, one line for each colour. Each text can be read on each
// background: in the light, texts are dark and backgrounds are light, whatever a program said, and in the dark the other
// way round. Only hues stay as they are.
func terminalStyles() string {
	var b strings.Builder
	fmt.Fprintf(&b, `/* Terminal output. Written by a test of handlers/render (-update), which says how; do not edit. */
.terminal { color: light-dark(%s, %s); overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.term-fg1 { font-weight: 600; }
.term-fg2 { color: %s; }
.term-fg3 { font-style: italic; }
.term-fg4 { text-decoration: underline; }
.term-fg5 { text-decoration: underline dotted; }
.term-fg9 { text-decoration: line-through; }
`, rgb("#1c2127").within(0, 1), rgb("#1c2127").within(2*0.37, 1), textColour("#808080"))
	colour := func(text, back string, n int) {
		behind := rgb(xterm(n))
		fmt.Fprintf(&b, ".term-%s { color: %s; } .term-%s { background: light-dark(%s, %s); }\n",
			text, textColour(xterm(n)), back, behind.within(0.61, 1), behind.within(0, 0.035))
	}
	for n := range 256 {
		switch {
		case n < 8:
			colour(fmt.Sprintf("fg%d", 30+n), fmt.Sprintf("bg%d", 40+n), n)
		case n < 16:
			colour(fmt.Sprintf("fgi%d", 82+n), fmt.Sprintf("bgi%d", 92+n), n)
		}
		colour(fmt.Sprintf("fgx%d", n), fmt.Sprintf("bgx%d", n), n)
	}
	return b.String()
}

// textColour is a colour that can be read, in the light and in the dark.
func textColour(hex string) string {
	return fmt.Sprintf("light-dark(%s, %s)", rgb(hex).within(0, 0.085), rgb(hex).within(0.37, 1))
}
