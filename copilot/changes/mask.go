package changes

import (
	"regexp"
	"strings"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/secret"
)

// The lines around a private key in PEM.
const (
	keyBegin = "-----BEGIN "
	keyEnd   = "-----END "
	keyMark  = "PRIVATE KEY-----"
)

func beginsKey(line string) bool {
	return strings.Contains(line, keyBegin) && strings.Contains(line, keyMark) && !endsKey(line)
}

func endsKey(line string) bool {
	return strings.Contains(line, keyEnd) && strings.Contains(line, keyMark)
}

// maskDiff masks the credentials in a difference.
func maskDiff(d *checkpoint.Diff) {
	for i := range d.Hunks {
		maskHunk(&d.Hunks[i])
	}
}

// maskHunk masks line by line, because a hunk has only parts of the file.
func maskHunk(h *checkpoint.Hunk) {
	m := LineMasker{inKey: startsInKey(h.Lines)}
	h.Section = secret.Mask(h.Section)
	if m.inKey {
		h.Section = "" // perhaps a line of the key
	}
	for i := range h.Lines {
		h.Lines[i].Text = m.Mask(h.Lines[i].Text)
	}
}

// LineMasker masks the lines of a file one after another, so that each stays a line: private keys have several. The zero value is at the
// start of a file.
type LineMasker struct{ inKey bool }

// Mask masks the credentials in the next line.
func (m *LineMasker) Mask(line string) string {
	wasInKey := m.inKey
	switch {
	case endsKey(line):
		m.inKey = false
		if at := strings.Index(line, keyEnd); wasInKey && at > 0 {
			line = secret.Marker + line[at:]
		}
	case beginsKey(line):
		m.inKey = true
	case wasInKey && looksLikeKey(line):
		return secret.Marker
	default:
		m.inKey = false
	}
	return secret.Mask(line)
}

// keyLine matches a line of a key with what may surround it: quotes, a mark of a comment or quotation, a line number.
var keyLine = regexp.MustCompile("^[\\s\"'`+,;\\\\#>*|().-]*(?://+|/[*]+)?\\s*(?:\\d+\\s*[:.)|-]?\\s+)?[\\s\"'`#>*|-]*[A-Za-z0-9+/=]*(?:\\\\n)*[\\s\"'`+,;\\\\*|()]*$")

// looksLikeKey reports whether a line can be in a key, perhaps as a string in a program. Code that only mentions keys stays readable.
func looksLikeKey(line string) bool {
	if keyLine.MatchString(line) {
		return true
	}
	return strings.Contains(line, "Proc-Type: ") || strings.Contains(line, "DEK-Info: ") // of an encrypted key
}

// startsInKey reports whether a private key begins before the lines.
func startsInKey(lines []checkpoint.Line) bool {
	for _, l := range lines {
		switch {
		case beginsKey(l.Text):
			return false
		case endsKey(l.Text):
			return !strings.Contains(l.Text, keyBegin)
		}
	}
	return false
}
