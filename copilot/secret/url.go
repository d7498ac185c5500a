package secret

import "strings"

// password matches the part of a URL from the colon after the scheme to the end of the password.
func password(text string) match {
	const slashes, inName = "://", "-._~!$&()*+,;=%" // RFC 3986, section 3.2.1, without the quote
	const longestName, longest = 64, 128
	if v := begins(text, slashes); v != yes {
		return match{verdict: v}
	}
	name, after, v := cut(text[len(slashes):], ':', inName, longestName)
	if v != yes {
		return match{verdict: v}
	}
	value, host, v := cut(after, '@', inName+":", longest)
	switch {
	case v != yes:
		return match{verdict: v}
	case isBlank(value):
		return match{}
	}
	switch begins(host, "sha256:") { // not a host but the digest of an image, after its name and tag
	case yes:
		return match{}
	case maybe:
		return match{verdict: maybe}
	case no:
	}
	shown := slashes + Mask(name) + ":" // the name can be a token
	return match{yes, shown, len(text) - len(host) - len("@"), nil}
}

// cut splits a text at a separator that follows at most limit bytes that are letters, digits or among extra.
func cut(text string, separator byte, extra string, limit int) (value, after string, v verdict) {
	n, open := run(text, extra, limit)
	switch {
	case open || n == len(text):
		return "", "", maybe
	case text[n] != separator:
		return "", "", no
	}
	return text[:n], text[n+1:], yes
}

// isBlank reports whether a password is a placeholder: a variable, a format verb, a word, or masked by another program.
func isBlank(value string) bool {
	switch strings.ToLower(value) {
	case "", "password", "passwd", "passwort", "pass", "pwd", "pw", "secret", "token", "mypassword", "redacted", "masked":
		return true
	}
	verb := value[0] == '%' && (len(value) < 3 || !isHex(value[1]) || !isHex(value[2]))
	return verb || value[0] == '$' || strings.Trim(value, value[:1]) == "" || isPlaceholder(value)
}
