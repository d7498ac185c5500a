package studio

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"maps"
	"strings"
	"text/template"
)

//go:embed prompts/*.md
var prompts embed.FS

// write makes a prompt of its file. What it is about stands between lines that it cannot contain, for their code is new
// each time: nothing in it can pass for an instruction.
func write(name string, values map[string]any) (string, error) {
	t, err := template.New(name+".md").Option("missingkey=error").ParseFS(prompts, "prompts/*.md")
	if err != nil {
		return "", err
	}
	values = maps.Clone(values)
	var code [8]byte
	_, _ = rand.Read(code[:]) // it never fails
	values["Code"] = hex.EncodeToString(code[:])
	var out bytes.Buffer
	err = t.Execute(&out, values)
	return strings.TrimSpace(out.String()) + "\n", err
}
