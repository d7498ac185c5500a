package secret

// match describes a credential that may begin at the start of a text.
type match struct {
	verdict verdict
	shown   string // the visible part, before the marker
	length  int    // bytes of the text known to belong to it
	tail    tail   // finds the rest of it; nil if there is none
}

type verdict int

const (
	no verdict = iota
	maybe
	yes
)

// tail returns how many of the first bytes of a text belong to the preceding credential, and whether it continues after
// them: maybe, if that depends on further text.
type tail func(text string) (n int, continues verdict)

// credential examines the beginning of a text of at least one byte. It returns maybe as long as further text can make a
// difference, which is for less than 300 bytes. Further text never changes any other result.
//
// Masking is idempotent because of two rules: a credential contains no byte of the marker, and the visible part before
// the marker is unchanged text. So whatever extends to a marker is not a credential, and whatever ends before one was
// examined the first time.
//
// The cases are those of [second].
func credential(text string) match {
	switch text[0] {
	case ':':
		return password(text)
	case '-':
		return privateKey(text)
	case 'A':
		return first(accessKey(text, "AKIA"), accessKey(text, "ASIA"), tokens(text, digitOptional, token{"AIza", inURL, 35}))
	case 'B':
		return first(tokens(text, digitRequired, token{"Bearer ", inHeader, 20}), basic(text, "Basic "))
	case 'b':
		return first(tokens(text, digitRequired, token{"bearer ", inHeader, 20}), basic(text, "basic "))
	case 'e':
		return webToken(text)
	case 'g':
		return tokens(text, digitOptional, token{"ghp_", "", 36}, token{"gho_", "", 36}, token{"ghu_", "", 36}, token{"ghr_", "", 36},
			token{"ghs_", dotted, 36}, token{"github_pat_", "_", 40}, token{"glpat-", dotted, 20})
	case 'n':
		return tokens(text, digitOptional, token{"npm_", "", 36})
	case 'r':
		return tokens(text, digitOptional, token{"rk_live_", "", 24})
	case 's':
		return first(tokens(text, digitOptional, token{"sk_live_", "", 24}), tokens(text, digitRequired, token{"sk-ant-", inURL, 32},
			token{"sk-proj-", inURL, 32}, token{"sk-svcacct-", inURL, 32}, token{"sk-admin-", inURL, 32},
			token{"sk-or-v1-", "", 32}, token{"sk-", "", 32}))
	case 'x':
		return tokens(text, digitRequired, token{"xoxb-", inURL, 24}, token{"xoxp-", inURL, 24}, token{"xoxa-", inURL, 24},
			token{"xoxr-", inURL, 24}, token{"xoxs-", inURL, 24}, token{"xoxe-", inURL, 24}, token{"xoxc-", inURL, 24},
			token{"xoxd-", inURL + "%", 24}, token{"xapp-", inURL, 24})
	}
	return match{}
}

// second returns the bytes that may come second in a credential after its first byte, or "". It rules out almost all of
// a text quickly.
func second(first byte) string {
	switch first {
	case ':':
		return "/"
	case '-':
		return "-"
	case 'A':
		return "IKS"
	case 'B', 'b':
		return "ae"
	case 'e':
		return "y"
	case 'g':
		return "hil"
	case 'n':
		return "p"
	case 'r', 's':
		return "k"
	case 'x':
		return "ao"
	}
	return ""
}

// first returns the first match that is not ruled out.
func first(matches ...match) match {
	for _, m := range matches {
		if m.verdict != no {
			return m
		}
	}
	return match{}
}

// begins reports whether a text begins with prefix, as far as there is text.
func begins(text, prefix string) verdict {
	n := min(len(text), len(prefix))
	switch {
	case text[:n] != prefix[:n]:
		return no
	case n < len(prefix):
		return maybe
	}
	return yes
}

// run returns how many of the first bytes of a text, at most limit, are letters, digits or among extra. If open is set,
// further text can make it longer.
func run(text, extra string, limit int) (n int, open bool) {
	for n < limit {
		if n == len(text) {
			return n, true
		}
		if !isAlnum(text[n]) && !contains(extra, text[n]) {
			return n, false
		}
		n++
	}
	return n, false
}

func contains(set string, c byte) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
