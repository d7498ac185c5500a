package copilot

import (
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

// maskHunk masks line by line, because a hunk has only parts of the file, and private keys, which have several lines.
func maskHunk(h *checkpoint.Hunk) {
	inKey := startsInKey(h.Lines)
	h.Section = secret.Mask(h.Section)
	if inKey {
		h.Section = "" // perhaps a line of the key
	}
	for i := range h.Lines {
		text := &h.Lines[i].Text
		switch {
		case endsKey(*text):
			if at := strings.Index(*text, keyEnd); inKey && at > 0 {
				*text = secret.Marker + (*text)[at:]
			}
			inKey, *text = false, secret.Mask(*text)
		case beginsKey(*text):
			inKey, *text = true, secret.Mask(*text)
		case inKey && looksLikeKey(*text):
			*text = secret.Marker
		default:
			inKey, *text = false, secret.Mask(*text)
		}
	}
}

// looksLikeKey reports whether a line can be in a key, perhaps as a string in a program. Code that only mentions keys stays readable.
func looksLikeKey(line string) bool {
	line = strings.Trim(strings.ReplaceAll(line, `\n`, ""), " \t\r\"'`+,;\\")
	if strings.HasPrefix(line, "Proc-Type:") || strings.HasPrefix(line, "DEK-Info:") { // of an encrypted key
		return true
	}
	return strings.Trim(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == ""
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
