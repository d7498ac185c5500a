package render_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	"github.com/copilot-portal/portal/handlers/render"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// update rewrites the terminal colors: go test ./handlers/render -run TerminalStyles -update.
var update = flag.Bool("update", false, "write assets/styles/terminal.css")

const (
	codeCSS     = "../../assets/styles/code.css"
	terminalCSS = "../../assets/styles/terminal.css"
	enough      = 4.5 // contrast, by WCAG AA
)

func TestEachClassHasARule(t *testing.T) {
	t.Parallel()
	code, terminal := read(t, codeCSS), read(t, terminalCSS)
	for _, class := range []string{"plain", "code", "continued", "diff", "note", "image", "diff-file", "diff-meta", "diff-hunk", "diff-note", "diff-add", "diff-del", "diff-same"} {
		assert.Regexp(t, `\.`+class+`[ ,:{]`, code)
	}
	for kind := range chroma.StandardTypes {
		if class := render.ColorOf(kind); class != "" {
			assert.Contains(t, code, ".hl-"+class+" {", kind.String())
		}
	}
	assert.Contains(t, terminal, ".terminal {")
	for code := range 256 {
		out := render.Terminal(fmt.Sprintf("\x1b[%dma\x1b[0;38;5;%dmb\x1b[0;48;5;%dmc", code, code, code), 0)
		for _, class := range regexp.MustCompile(`term-\w+`).FindAllString(out, -1) {
			assert.Contains(t, terminal, "."+class+" {")
		}
	}
}

func TestCodeColorsHaveContrast(t *testing.T) {
	t.Parallel()
	light, dark := properties(read(t, codeCSS))
	for _, scheme := range []struct {
		colors map[string]string
		pages  []string
	}{{light, []string{"#ffffff", "#f6f8fa"}}, {dark, []string{"#0d1117", "#161b22"}}} {
		for name, color := range scheme.colors {
			switch {
			case strings.HasPrefix(name, "hl-"):
				for _, page := range scheme.pages {
					assert.GreaterOrEqual(t, contrast(color, page), enough, "%s on %s", name, page)
				}
			case name == "diff-text" || name == "diff-number":
				for _, on := range append(scheme.pages, scheme.colors["diff-add"], scheme.colors["diff-del"], scheme.colors["diff-hunk"], scheme.colors["diff-file"]) {
					assert.GreaterOrEqual(t, contrast(color, on), enough, "%s on %s", name, on)
				}
			}
		}
	}
	assert.NotEmpty(t, light)
}

func TestTerminalColorsHaveContrast(t *testing.T) {
	t.Parallel()
	light, dark := terminalColors(read(t, terminalCSS))
	for _, scheme := range []struct {
		colors map[string]string
		pages  []string
	}{{light, []string{"#ffffff", "#f6f8fa"}}, {dark, []string{"#0d1117", "#161b22"}}} {
		lowest := 21.0
		for name, color := range scheme.colors {
			if strings.HasPrefix(name, "term-b") {
				continue
			}
			for _, page := range scheme.pages {
				lowest = min(lowest, contrast(color, page))
			}
			for other, behind := range scheme.colors {
				if strings.HasPrefix(other, "term-b") {
					lowest = min(lowest, contrast(color, behind))
				}
			}
		}
		assert.GreaterOrEqual(t, lowest, enough)
	}
	assert.Len(t, dark, len(light), "both modes define the same classes")
	assert.Len(t, light, 2*256+2*16+2)
}

func TestTerminalStylesMatchPalette(t *testing.T) {
	t.Parallel()
	want := terminalStyles()
	if *update {
		require.NoError(t, os.WriteFile(terminalCSS, []byte(want), 0o644))
	}
	if read(t, terminalCSS) != want {
		t.Error("terminal.css is not up to date: run the test with -update")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// terminalColors returns the colors of classes, for light and dark mode.
func terminalColors(css string) (light, dark map[string]string) {
	light, dark = map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`\.([\w-]+) \{ (?:color|background): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`).FindAllStringSubmatch(css, -1) {
		light[m[1]], dark[m[1]] = m[2], m[3]
	}
	return light, dark
}

// properties returns the custom color properties, for light and dark mode.
func properties(css string) (light, dark map[string]string) {
	light, dark = map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`).FindAllStringSubmatch(css, -1) {
		light[m[1]], dark[m[1]] = m[2], m[3]
	}
	return light, dark
}

func contrast(a, b string) float64 {
	x, y := rgb(a).luminance(), rgb(b).luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// linear is a color by its linear light components.
type linear [3]float64

func rgb(hex string) (c linear) {
	for i := range c {
		value, _ := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		s := float64(value) / 255
		if c[i] = s / 12.92; s > 0.04045 {
			c[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c linear) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

func (c linear) String() string {
	out := "#"
	for _, value := range c {
		s := value * 12.92
		if value > 0.0031308 {
			s = 1.055*math.Pow(value, 1/2.4) - 0.055
		}
		out += fmt.Sprintf("%02x", int(math.Round(255*s)))
	}
	return out
}

// within changes a color until its luminance is within bounds, and keeps its hue.
func (c linear) within(lowest, highest float64) linear {
	l := c.luminance()
	for i := range c {
		switch {
		case l > highest:
			c[i] *= highest / l
		case l < lowest:
			c[i] += (1 - c[i]) * (lowest - l) / (1 - l)
		}
	}
	return c
}
