package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Begin returns the line before a document. Readers of prompts, such as the demo model, find the document by
// the first line "=== document CODE begins ===" and the line "=== document CODE ends ===" with the same code
// of 16 hexadecimal digits. The document is the text between these lines, without the line break before the
// second.
func Begin(code string) string { return "=== document " + code + " begins ===" }

// End returns the line after a document.
func End(code string) string { return "=== document " + code + " ends ===" }

// codeFor returns a code that does not occur in the input. It depends only on the input, so equal inputs give
// equal prompts.
func codeFor(t Type, in Input) string {
	seed, err := json.Marshal([]any{t, in})
	if err != nil {
		panic(err) // strings always encode
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
