package secret_test

import (
	"strings"
	"testing"

	"github.com/copilot-portal/portal/copilot/secret"
)

const prose = "The server keeps one record for each session, and every reader goes through it at its own pace: " +
	"a slow one blocks nobody. `s.Next(ctx, after, 256)` returns what stands after a number, see https://go.dev/ref/mem - or waits. "

// BenchmarkStream measures one delta.
func BenchmarkStream(b *testing.B) {
	words := strings.SplitAfter(prose, " ")
	for i, w := range words { // models split words before the space
		words[i] = " " + strings.TrimSuffix(w, " ")
	}
	for name, deltas := range map[string][]string{
		"prose/20 bytes":       pieces(strings.Repeat(prose, 20), 20),
		"prose/words":          words,
		"prose/4 KiB":          pieces(strings.Repeat(prose, 400), 4096),
		"base64/20 bytes":      pieces(strings.Repeat(random, 20), 20),
		"credentials/20 bytes": pieces(strings.Repeat("ghp_"+random+" "+jwt+"\n"+begin+"\n"+key+end+"\n", 20), 20),
		"hyphens and eyJ":      pieces(strings.Repeat("-eyJ", 1000), 20),
	} {
		b.Run(name, func(b *testing.B) {
			var s secret.Stream
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Write(deltas[i%len(deltas)])
			}
		})
	}
}

// BenchmarkMask measures a whole text of 64 KiB without credentials, and one of nothing else.
func BenchmarkMask(b *testing.B) {
	for name, line := range map[string]string{"prose": prose, "credentials": "ghp_" + random[:36] + "\n"} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(line, 1<<16/len(line))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				secret.Mask(text)
			}
		})
	}
}

func pieces(text string, size int) (all []string) {
	for ; len(text) > size; text = text[size:] {
		all = append(all, text[:size])
	}
	return append(all, text)
}
