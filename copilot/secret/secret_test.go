package secret_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/secret"
)

// random is unpredictable text. Tokens are assembled here so that this file contains none.
const (
	random = "q7Wc2VbN4xZk9RtY1uLpD6sHfG3jMa8oTeKiXwQz5BvCnEyUrOlIh0PdSgFJ"
	key    = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\nNMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ\nqgtzJ6GR3eqoYSW9==\n"
	dashes = "-----"
	begin  = dashes + "BEGIN PRIVATE KEY" + dashes
	end    = dashes + "END PRIVATE KEY" + dashes
	header = "eyJ" + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
	claims = "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkFkYSJ9"
	jwt    = header + "." + claims + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)

func credentials() map[string]struct{ text, want string } {
	pem := func(label, key string) string {
		return dashes + "BEGIN " + label + dashes + "\n" + key + dashes + "END " + label + dashes + "\n"
	}
	return map[string]struct{ text, want string }{
		"a personal GitHub token":                {"ghp_" + random[:36], "ghp_…masked"},
		"a GitHub OAuth token":                   {"gho_" + random[:36], "gho_…masked"},
		"a user token of a GitHub App":           {"ghu_" + random[:36], "ghu_…masked"},
		"a GitHub refresh token":                 {"ghr_" + random, "ghr_…masked"},
		"an installation token":                  {"ghs_" + random[:36], "ghs_…masked"},
		"an installation token with claims":      {"ghs_123456_" + jwt + ".", "ghs_…masked."},
		"a fine-grained GitHub token":            {"github_pat_" + random[:22] + "_" + random[:59], "github_pat_…masked"},
		"a GitLab token":                         {"glpat-" + random[:20], "glpat-…masked"},
		"a routable GitLab token":                {"glpat-" + random[:27] + ".01.0a1b2c3d4", "glpat-…masked"},
		"an npm token":                           {"//packages.example.com/:_authToken=npm_" + random[:36] + "\n", "//packages.example.com/:_authToken=npm_…masked\n"},
		"an OpenAI key":                          {"sk-" + random[:20] + "T3BlbkFJ" + random[:20], "sk-…masked"},
		"an OpenAI project key":                  {"sk-proj-" + random[:30] + "_-" + random, "sk-proj-…masked"},
		"an Anthropic key":                       {"sk-ant-api03-" + random + "-AA", "sk-ant-…masked"},
		"an OpenRouter key":                      {"sk-or-v1-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "sk-or-v1-…masked"},
		"an AWS key id":                          {"AKIA" + "QWERTYUIOP234567", "AKIA…masked"},
		"an AWS session id":                      {`"ASIA` + `QWERTYUIOP234567"`, `"ASIA…masked"`},
		"a token of a Slack bot":                 {"xoxb-" + "1234567890-1234567890-" + random[:24], "xoxb-…masked"},
		"a token of a Slack app":                 {"xapp-" + "1-A0123456789-0123456789-" + random, "xapp-…masked"},
		"a Google key":                           {"?key=AIza" + random[:35] + "&q=x", "?key=AIza…masked&q=x"},
		"a Stripe key":                           {"sk_live_" + random[:24], "sk_live_…masked"},
		"a restricted Stripe key":                {"rk_live_" + random, "rk_live_…masked"},
		"a JSON Web Token":                       {"token: " + jwt + ", next", "token: eyJ…masked, next"},
		"a JSON Web Token without its signature": {header + "." + claims, "eyJ…masked"},

		"a header":                  {"curl -H 'Authorization: Bearer " + random[:24] + "' x", "curl -H 'Authorization: Bearer …masked' x"},
		"a header in lower case":    {"authorization: bearer " + random, "authorization: bearer …masked"},
		"a header in JSON":          {`{"Authorization":"Bearer ` + random + `"}`, `{"Authorization":"Bearer …masked"}`},
		"a header with known token": {"Authorization: Bearer " + jwt, "Authorization: Bearer …masked"},
		"a known token in a header": {"Authorization: token ghp_" + random[:36], "Authorization: token ghp_…masked"},
		"a name and password":       {"Authorization: Basic YWRhOmxvdmVsYWNl\r\n", "Authorization: Basic …masked\r\n"},
		"a name without password":   {"Basic YWRhX2xvdmVsYWNlOg==", "Basic …masked"},

		"a password in a URL":                   {"postgres://ada:l0vel%40ce@db.example:5432/app", "postgres://ada:…masked@db.example:5432/app"},
		"a password without a name":             {"redis://:hunter2@localhost", "redis://:…masked@localhost"},
		"a password before a variable":          {"amqp://ada:hunter2@$HOST", "amqp://ada:…masked@$HOST"},
		"a password at the end of the text":     {"ftp://ada:hunter2@", "ftp://ada:…masked@"},
		"a token as the name in a URL":          {"https://ghp_" + random[:36] + "@github.com/a/b", "https://ghp_…masked@github.com/a/b"},
		"a token as the name before a password": {"https://ghp_" + random[:36] + ":x-oauth-basic@github.com", "https://ghp_…masked:…masked@github.com"},
		"a token as the password in a URL":      {"https://oauth2:glpat-" + random[:20] + "@gitlab.com", "https://oauth2:…masked@gitlab.com"},

		"a private key":                     {"a\n" + pem("PRIVATE KEY", key) + "b", "a\n" + begin + secret.Marker + end + "\nb"},
		"a private key of a named kind":     {pem("RSA PRIVATE KEY", key), dashes + "BEGIN RSA PRIVATE KEY" + dashes + secret.Marker + dashes + "END RSA PRIVATE KEY" + dashes + "\n"},
		"a private key with a password":     {pem("EC PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n"+key), dashes + "BEGIN EC PRIVATE KEY" + dashes + secret.Marker + dashes + "END EC PRIVATE KEY" + dashes + "\n"},
		"a PGP private key":                 {pem("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2.0.22 (GNU/Linux)\n\n"+key+"=aB3d\n"), dashes + "BEGIN PGP PRIVATE KEY BLOCK" + dashes + secret.Marker + dashes + "END PGP PRIVATE KEY BLOCK" + dashes + "\n"},
		"a private key on one line":         {`K="` + strings.ReplaceAll(begin+"\n"+key+end, "\n", `\n`) + `"`, `K="` + begin + secret.Marker + end + `"`},
		"a private key with spaces":         {strings.ReplaceAll(begin+"\n"+key+end, "\n", " "), begin + secret.Marker + end},
		"a private key in a diff":           {strings.ReplaceAll("\n"+pem("PRIVATE KEY", key), "\n", "\n-"), "\n-" + begin + secret.Marker + end + "\n-"},
		"a private key with line numbers":   {"1\t" + strings.ReplaceAll(pem("PRIVATE KEY", key), "\n", "\n  2\t"), "1\t" + begin + secret.Marker + end + "\n  2\t"},
		"the beginning of a private key":    {"```\n" + begin + "\n" + key[:100] + "\n```\nThat is it.", "```\n" + begin + secret.Marker + "\n```\nThat is it."},
		"the beginning and then prose":      {begin + "\n" + key[:130] + "That is all there is in the file, and it goes on like this for long.", begin + secret.Marker + "\nThat is all there is in the file, and it goes on like this for long."},
		"two private keys":                  {begin + "\n" + key + end + "\n" + begin + "\n" + key + end, begin + secret.Marker + end + "\n" + begin + secret.Marker + end},
		"several credentials":               {"ghp_" + random[:36] + ",sk-ant-" + random, "ghp_…masked,sk-ant-…masked"},
		"a credential after a new line":     {`"a\nghp_` + random[:36] + `"`, `"a\nghp_…masked"`},
		"a credential after an escape":      {"token%3Dghp_" + random[:36] + "%26x", "token%3Dghp_…masked%26x"},
		"a credential in color":             {"\x1b[1;31mghp_" + random[:36] + "\x1b[0m", "\x1b[1;31mghp_…masked\x1b[0m"},
		"a credential at the end of a word": {"a_token_ghp_" + random[:36], "a_token_ghp_…masked"},
		"a credential after other letters":  {"für ghp_" + random[:36] + "ü", "für ghp_…maskedü"},
		"a word late in a credential":       {"glpat-" + random[:20] + "example1", "glpat-…masked"},
		"a key with an invalid label":       {dashes + "BEGIN AKIA" + "QWERTYUIOP234567 PRIVATE KEY" + dashes + key, dashes + "BEGIN AKIA…masked PRIVATE KEY" + dashes + key},
		"the end of a sentence":             {"It is Bearer " + random + ". So", "It is Bearer …masked. So"},
		"the end of the text":               {"It is Bearer " + random + ".", "It is Bearer …masked."},
	}
}

func TestMask(t *testing.T) {
	for name, tt := range credentials() {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, secret.Mask(tt.text))
			assert.Equal(t, tt.want, secret.Mask(tt.want), "masked twice")
			assertCuts(t, tt.text)
		})
	}
}

func harmless() map[string]string {
	return map[string]string{
		"nothing":                         "",
		"prose":                           "The agent is sure: nothing good begins so early, except bearers of basic news.",
		"prose about schemes":             "Basic authentication and Bearer tokens; basic understanding, bearer of news. Bearer authentication-methods-of-the-web",
		"a commit":                        "commit 8b87acd1f0c2b3a49586774d3e2f1a0b9c8d7e6f",
		"an id":                           "123e4567-e89b-12d3-a456-426614174000",
		"a checksum":                      "h1:Wv4EYEGh3kTnMlHj3s4Fqc7Jq0a0mF9WlqMZ0S0Y9xo=",
		"an image":                        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"JSON in base64":                  claims + header,
		"a file of JavaScript":            header[:20] + ".js and eyJ.eyJ",
		"a name with a hyphen":            "sk-learn, scikit-learn, sk-fading-circle-container-with-a-long-name-1 and task-0123456789abcdef0123456789abcdef",
		"names with an underscore":        "npm_config_registry npm_lifecycle_event npm_package_dependencies_typescript_version ghp_token sk_live_mode",
		"words in capitals":               "AKIA ASIA ASIAPACIFIC AKIALOWERCASEISNOTALLOWEDhere AKIA0189018901890189",
		"text longer than an id":          "AKIA" + "QWERTYUIOP234567Q",
		"text shorter than a token":       "ghp_" + random[:35] + " npm_" + random[:35] + " AIza" + random[:34] + " sk-" + random[:31],
		"a token within a word":           "Xghp_" + random[:36],
		"expressions":                     `ghp_[A-Za-z0-9]{36}|sk-[a-zA-Z0-9]{48}|AKIA[0-9A-Z]{16}|xox[baprs]-[0-9]{10,13}|eyJ[\w-]+\.eyJ[\w-]+`,
		"placeholders of tokens":          "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ghp_**** ghp_... ghp_… sk-... sk-ant-... npm_000000000000000000000000000000000000",
		"placeholders with words":         "sk-ant-api03-your-key-goes-here-1234567890 xoxb-your-token-goes-right-in-here-1 AKIAIOSFODNN7" + "EXAMPLE",
		"placeholders of headers":         "Authorization: Bearer $TOKEN, Bearer ${{ secrets.TOKEN }}, Bearer <token>, Bearer {token}, Bearer YOUR_ACCESS_TOKEN_1234, Bearer xxxxxxxxxxxxxxxxxxxx1, Basic $(printf x | base64), Basic <credentials>",
		"headers in code":                 `req.Header.Set("Authorization", "Bearer "+token) "Bearer " + secret1 'Basic ' + btoa(x)`,
		"addresses":                       "http://localhost:8888/ https://[::1]:8888/x@y http://127.0.0.1:80 ssh://git@example.com:22/a https://example.com/@scope/name:1@2 a://b:c",
		"mail":                            "mailto:ada@example.com ada@example.com:x git@github.com:a/b.git",
		"an image by its digest":          "docker://alpine:3.18@sha256:0123 oci://registry:5000@sha256:4567",
		"placeholders in URLs":            "postgres://user:password@host http://u:p@h a://u:$PASS@h a://u:${PASS}@h a://u:%s@h a://%s:%v@%s a://u:***@h a://u:<pw>@h a://u:xxxxx@h a://:@h a://u:{{pw}}@h a://u:YOUR_PASSWORD@h",
		"an encoded password of one byte": "a://u:%@h",
		"a certificate":                   dashes + "BEGIN CERTIFICATE" + dashes + "\n" + key + dashes + "END CERTIFICATE" + dashes,
		"a public key":                    dashes + "BEGIN PUBLIC KEY" + dashes + "\n" + key + dashes + "END PUBLIC KEY" + dashes,
		"the first line of a key in code": `if strings.HasPrefix(s, "` + begin + `") { return parsePrivateKeyFromTextOfAnyKindWhatever(s) }`,
		"an omitted key":                  begin + "\n...\n" + end + "\n" + begin + "\n<your key>\n" + end + "\n" + begin + "\n" + end,
		"a key in prose":                  begin + " is how the file begins. It ends with " + end + ".",
		"rules and tables":                "--------------------\n| a | b |\n|-----|:-----|\n---\n- - -\n-----BEGIN",
		"invalid UTF-8":                   "\xff\x00\xfeghp_\x00\x80",
	}
}

func TestMaskLeavesTheRest(t *testing.T) {
	for name, text := range harmless() {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, text, secret.Mask(text))
			assertCuts(t, text)
		})
	}
}

// assertCuts splits a text everywhere: into single bytes and into any two pieces.
func assertCuts(t *testing.T, text string) {
	t.Helper()
	want := secret.Mask(text)
	assert.Equal(t, want, stream(t, strings.Split(text, "")...), "in characters")
	for i := range len(text) {
		assert.Equal(t, want, stream(t, text[:i], text[i:]), "cut at %d", i)
	}
}

// stream masks pieces and returns the combined output.
func stream(t *testing.T, pieces ...string) string {
	t.Helper()
	var s secret.Stream
	var all strings.Builder
	for _, p := range pieces {
		safe := s.Write(p)
		all.WriteString(safe)
		if s.Held() > mostHeld {
			t.Errorf("%d bytes are held back: %q", s.Held(), all.String())
		}
		if utf8.ValidString(p) && !utf8.ValidString(safe) {
			t.Errorf("a character is split: %q", safe)
		}
	}
	all.WriteString(s.Close())
	return all.String()
}

// mostHeld is the limit promised by [secret.Stream], in bytes.
const mostHeld = 300

func TestStream(t *testing.T) {
	t.Run("of prose at most a few characters are held back", func(t *testing.T) {
		const prose = "So the server answers: \"nothing to see\" - and goes on, as a reader expects. Every single example"
		var s secret.Stream
		for letter := range strings.SplitSeq(prose, "") {
			s.Write(letter)
			assert.LessOrEqual(t, s.Held(), 2)
		}
	})
	t.Run("a credential is masked as soon as it is recognized, and its rest is omitted", func(t *testing.T) {
		var s secret.Stream
		assert.Equal(t, "It is ", s.Write("It is ghp_"))
		assert.Empty(t, s.Write(random[:35]))
		assert.Equal(t, "ghp_…masked", s.Write("x"))
		assert.Empty(t, s.Write(strings.Repeat(random, 1000)))
		assert.Zero(t, s.Held())
		assert.Equal(t, " and", s.Write(" and"))
		assert.Empty(t, s.Close())
	})
	t.Run("text that turns out to be harmless comes later", func(t *testing.T) {
		var s secret.Stream
		assert.Equal(t, "It is ", s.Write("It is ghp_"))
		assert.Equal(t, "ghp_short.", s.Write("short."))
	})
	t.Run("Close returns what is held back, and another text can follow", func(t *testing.T) {
		var s secret.Stream
		assert.Equal(t, "token", s.Write("token"))
		assert.Empty(t, s.Write(":"))
		assert.Equal(t, ":", s.Close())
		assert.Empty(t, s.Write("ghp_"+random[:35]), "which starts a new text")
		assert.Equal(t, "ghp_"+random[:35], s.Close())
		assert.Empty(t, s.Close())
	})
	t.Run("text longer than the limit is not held back", func(t *testing.T) {
		for _, text := range []string{
			"eyJ" + strings.Repeat("a", 1000) + ".eyJ" + random,
			"a://" + strings.Repeat("a", 1000) + ":hunter2@h",
			"a://a:" + strings.Repeat("ab", 1000) + "@h",
			begin + strings.Repeat("\n", 1000) + key,
			"Basic " + strings.Repeat("YWFh", 1000),
		} {
			assert.Equal(t, text, stream(t, strings.Split(text, "")...))
		}
	})
}
