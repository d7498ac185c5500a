package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Begin is the line before a document. Readers of prompts, as the demo model is one, find the document by this form:
// the first line "=== document CODE begins ===", and the line "=== document CODE ends ===" with the same code, which is of
// 16 hexadecimal digits. What stands between these lines, without the line break before the second, is the document.
func Begin(code string) string { return "=== document " + code + " begins ===" }

// End is the line after a document.
func End(code string) string { return "=== document " + code + " ends ===" }

// codeFor makes a code that stands nowhere in the input. It is the same for the same input, so a prompt is, too.
func codeFor(t Type, in Input) string {
	seed, err := json.Marshal([]any{t, in})
	if err != nil {
		panic(err) // texts can be marshalled
	}
	for {
		sum := sha256.Sum256(seed)
		code := hex.EncodeToString(sum[:8])
		if !strings.Contains(in.Document, code) && !strings.Contains(in.Name, code) && !strings.Contains(in.Prompt, code) {
			return code
		}
		seed = sum[:]
	}
}
