// Package secret masks credentials in text, also while the text is still being written.
//
// It recognizes only shapes that hardly anything else has: tokens with the prefix of their issuer (GitHub, GitLab, npm,
// OpenAI, Anthropic, AWS, Google, Slack, Stripe), JSON Web Tokens, private keys in PEM, the values of Bearer and Basic,
// and passwords in URLs. Everything else stays unchanged, including placeholders (ghp_xxxx, $TOKEN, <token>): masking
// harmless code does more harm than showing a credential that cannot be recognized.
//
// A credential is replaced by the prefix that tells its kind, and [Marker]:
//
//	ghp_…masked
//	Authorization: Bearer …masked
//	postgres://ada:…masked@db.example/app
//	-----BEGIN PRIVATE KEY-----…masked-----END PRIVATE KEY-----
//
// No credential can contain the marker, so masking a masked text changes nothing.
package secret

// Marker replaces a credential.
const Marker = "…masked"

// Mask masks all credentials in a text. It returns a text without any unchanged and without a copy.
func Mask(text string) string {
	s := Stream{}
	out := s.Write(text)
	return out + s.Close()
}
