package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/copilot-portal/portal/handlers/render"
)

// answer is a typical model answer of about 3 KB.
func answer() string {
	part := "## What changed\n\nThe *guard* now checks `Origin` on **every** request, see [the notes](https://example.com/notes).\n\n" +
		"1. `server/guard.go`: reads the header\n2. `server/guard_test.go`: a table of cases\n   - with and without `Host`\n   - foreign pages\n\n" +
		"```go\nfunc (g *guard) check(r *http.Request) error {\n\tif origin := r.Header.Get(\"Origin\"); origin != \"\" && !g.allowed[origin] {\n" +
		"\t\treturn fmt.Errorf(\"%q is foreign\", origin) // refused\n\t}\n\treturn nil\n}\n```\n\n| case | before | after |\n|:--|--:|--:|\n| own page | 200 | 200 |\n| foreign | 200 | 403 |\n\n" +
		"> Requests without these headers pass, since scripts send none.\n\nRun `go test ./server` to see it. All tests pass.\n\n"
	return strings.Repeat(part, 4)
}

func BenchmarkMarkdown(b *testing.B) {
	text := answer()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		render.Markdown(text)
	}
}

// BenchmarkStream adds 5,000 pieces of four bytes.
func BenchmarkStream(b *testing.B) {
	for name, text := range map[string]string{"answer": strings.Repeat(answer(), 8)[:20_000], "code": "```go\n" + strings.Repeat("\tx := f(\"a\", 1) // b\n", 1000)[:20_000]} {
		b.Run(name, func(b *testing.B) {
			written := 0
			for b.Loop() {
				var s render.Stream
				for i := 0; i < len(text); i += 4 {
					done, tail := s.Add(text[i:min(i+4, len(text))])
					written += len(done) + len(tail)
				}
			}
			b.ReportMetric(float64(written)/float64(b.N)/5000, "B-written/piece")
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	text := "--- a/x\n+++ b/x\n@@ -1,1500 +1,1500 @@\n" + strings.Repeat(" \tunchanged := line\n-\told(\"line\")\n+\tnew(\"line\")\n \tunchanged := again\n", 500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		render.Diff(text)
	}
}

func BenchmarkTerminal(b *testing.B) {
	text := strings.Repeat("\x1b[32m--- PASS\x1b[0m: TestThatTheGuardChecks/with_an_origin (0.01s)\r\n", 1<<20/65)
	b.SetBytes(int64(len(text)))
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			render.Terminal(text, 0)
		}
	})
	b.Run("40 lines", func(b *testing.B) {
		for b.Loop() {
			render.Terminal(text, 40)
		}
	})
}

// BenchmarkChange streams an answer of 20,000 words, as a UI that accepts changes gets it: a piece is what arrives in a frame.
func BenchmarkChange(b *testing.B) {
	for name, words := range map[string]int{"a word": 1, "a frame": 40} {
		for _, total := range []int{5000, 10_000, 20_000} {
			b.Run(fmt.Sprintf("%s at a time, %d words", name, total), func(b *testing.B) {
				size := 0
				for b.Loop() {
					var s render.Stream
					size = 0
					for i := 0; i < total; i += words {
						c := s.Change(strings.Repeat("w1234 ", words))
						size += len(c.Append) + len(c.Tail)
					}
				}
				b.ReportMetric(float64(size)/float64(total), "B/word")
			})
		}
	}
}
