package secret_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/secret"
)

// FuzzMask combines its input with pieces of credentials, because random input rarely contains any.
func FuzzMask(f *testing.F) {
	for _, c := range credentials() {
		f.Add(c.text, uint64(0))
	}
	for _, text := range harmless() {
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		chance := rand.New(rand.NewPCG(seed, 0))
		checkMask(t, text, chance)
		checkMask(t, mix(text, chance), chance)
	})
}

func TestMixtures(t *testing.T) {
	for seed := range uint64(3000) {
		chance := rand.New(rand.NewPCG(seed, 1))
		checkMask(t, mix("", chance), chance)
	}
}

func checkMask(t *testing.T, text string, chance *rand.Rand) {
	t.Helper()
	want := secret.Mask(text)
	if again := secret.Mask(want); again != want {
		t.Errorf("masked again\n%q\n%q\n%q", text, want, again)
	}
	if utf8.ValidString(text) && !utf8.ValidString(want) {
		t.Errorf("invalid UTF-8\n%q\n%q", text, want)
	}
	for _, longest := range []int{1, 4, 64} {
		if got := stream(t, cut(text, longest, chance)...); got != want {
			t.Errorf("cut\n%q\n%q\n%q", text, want, got)
		}
	}
}

// cut splits a text between characters into pieces of at most longest bytes or one character.
func cut(text string, longest int, chance *rand.Rand) (pieces []string) {
	for text != "" {
		n := min(1+chance.IntN(longest), len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// mix combines pieces of all kinds, complete or truncated.
func mix(text string, chance *rand.Rand) string {
	pieces := []string{
		text, " ", "\n", ":", "@", "-", "_", "/", ".", "=", "$", "%3D", `\n`, "…", "…masked", "a", "7", "ä", "://", "sha256:", "xxxxx", "example",
		"ghp_", "ghs_", "github_pat_", "glpat-", "npm_", "sk-", "sk-ant-", "sk_live_", "AKIA", "AKIAQWERTYUIOP234567", "AIza", "xoxb-", "eyJ", ".eyJ",
		"Bearer ", "bearer ", "Basic ", "YWRhOmxvdmVsYWNl", "https://", "ada:", "hunter2@", begin, end, key, header, claims, jwt, random[:20], random[:36], random,
	}
	var out strings.Builder
	for range chance.IntN(12) {
		piece := pieces[chance.IntN(len(pieces))]
		if chance.IntN(4) == 0 {
			piece = piece[:chance.IntN(len(piece)+1)]
		}
		out.WriteString(piece)
	}
	return out.String()
}

func FuzzMaskJSON(f *testing.F) {
	for _, text := range documents() {
		f.Add([]byte(text.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		masked := secret.MaskJSON(raw)
		if !json.Valid(raw) {
			return
		}
		if !json.Valid(masked) {
			t.Fatalf("invalid JSON\n%q\n%q", raw, masked)
		}
		if again := secret.MaskJSON(masked); string(again) != string(masked) {
			t.Errorf("masked again\n%q\n%q\n%q", raw, masked, again)
		}
		if skeleton(t, raw) != skeleton(t, masked) {
			t.Errorf("more than strings changed\n%q\n%q", raw, masked)
		}
	})
}

// skeleton returns a JSON text without its strings and white space.
func skeleton(t *testing.T, raw []byte) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var out strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return out.String()
		}
		switch v := token.(type) {
		case json.Delim:
			out.WriteString(v.String())
		case json.Number:
			out.WriteString(v.String() + ",")
		case string:
			out.WriteString(`"`)
		case bool:
			out.WriteString(map[bool]string{true: "t", false: "f"}[v])
		default:
			out.WriteString("n")
		}
	}
}
