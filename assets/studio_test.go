//go:build screenshots

package assets_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/server/portaltest"
)

// studio is a portal with realistic sessions.
type studio struct {
	chromium *portaltest.Chromium
	portal   *portaltest.Portal
	home     string
	ids      map[string]string
}

func newStudio(t *testing.T) *studio {
	s := &studio{chromium: portaltest.StartChromium(t), home: t.TempDir(), ids: map[string]string{}}
	project := filepath.Join(s.home, "orders-api")
	makeProject(t, project)
	configuration := filepath.Join(s.home, ".config", "portal", "config.yaml")
	config := "providers: [{name: local, base_url: " + startActor(t) + ", models: [qwen3-coder]}]\nmodel: local/qwen3-coder\n"
	require.NoError(t, os.MkdirAll(filepath.Dir(configuration), 0o755))
	require.NoError(t, os.WriteFile(configuration, []byte(config), 0o600))
	s.portal = startPortal(t, portaltest.Options{Args: []string{"--config", configuration}, Home: filepath.Join(s.home, ".copilot")})
	for _, play := range plays {
		directory := filepath.Join(s.home, play.directory)
		require.NoError(t, os.MkdirAll(directory, 0o755))
		id := s.portal.API("POST", "copilot/session/start/local/qwen3-coder?permissions="+play.permissions+"&interactive=true", directory).Text("sessionId")
		require.NotEmpty(t, id, play.name)
		s.ids[play.name] = id
		for _, prompt := range play.prompts {
			s.portal.Query(id, prompt)
			s.portal.Until(id, play.until)
		}
	}
	input := project + "\nHow orders expire, for the people who run the service: what happens, when, and how to look at it."
	s.ids["job"] = s.portal.API("POST", "copilot/job/start/refine", input).Text("jobId")
	require.NotEmpty(t, s.ids["job"])
	return s
}

// startActor serves the demo model. It replaces natural prompts by their scripts.
func startActor(t *testing.T) string {
	const key = "key"
	pairs := []string{`"qwen3-coder"`, `"demo"`}
	for said, script := range scripts {
		pairs = append(pairs, quoted(said), quoted(script))
	}
	words := strings.NewReplacer(pairs...) // in one pass: scripts may contain prompts
	actor := demo.NewHandler(key)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		body = []byte(words.Replace(string(body)))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Authorization", "Bearer "+key)
		actor.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// quoted encodes a text as JSON, without the quotation marks.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// makeProject creates a git repository.
func makeProject(t *testing.T, directory string) {
	for name, text := range project {
		path := filepath.Join(directory, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, args := range []string{"init -q -b expire-orders", "add .", "-c user.name=Ada -c user.email=ada@example.com commit -qm Orders"} {
		c := exec.Command("git", strings.Fields(args)...)
		c.Dir = directory
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}

// alike reports whether two colors look the same.
func alike(a, b color.Color) bool {
	const seen = 10 << 8
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	apart := func(a, b uint32) bool { return max(a, b)-min(a, b) > seen }
	return a == b || !apart(ar, br) && !apart(ag, bg) && !apart(ab, bb)
}

// small reduces a picture to the 256 most frequent distinct colors.
func small(t *testing.T, raw []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
	b, count := full.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { c, _ := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA); return c }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	colours := make([]color.RGBA, 0, len(count))
	for c := range count {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int { return count[b] - count[a] })
	palette := color.Palette{}
	for _, c := range colours {
		if len(palette) < 256 && !slices.ContainsFunc(palette, func(p color.Color) bool { return alike(c, p) }) {
			palette = append(palette, c)
		}
	}
	out, nearest := image.NewPaletted(b, palette), map[color.RGBA]uint8{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := at(x, y)
			if _, known := nearest[c]; !known {
				nearest[c] = uint8(palette.Index(c)) //nolint:gosec // at most 255
			}
			out.SetColorIndex(x, y, nearest[c])
		}
	}
	var w bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&w, out))
	return w.Bytes()
}
