// Package secret masks what looks like a credential in text, also while the
// text is still coming.
//
// What counts has a shape that hardly anything else has: tokens with the prefix
// of their issuer (GitHub, GitLab, npm, OpenAI, Anthropic, AWS, Google, Slack,
// Stripe), JSON Web Tokens, private keys in PEM, the values of Bearer and Basic,
// and passwords in URLs. Anything else stays as it is, placeholders included
// (ghp_xxxx, $TOKEN, <token>): a mask in the middle of honest code does more harm
// than a credential of a kind that nobody can recognise.
//
// In place of a credential stands what tells its kind, and [Marker]:
//
//	ghp_…masked
//	Authorization: Bearer …masked
//	postgres://ada:…masked@db.example/app
//	-----BEGIN PRIVATE KEY-----…masked-----END PRIVATE KEY-----
//
// No credential can hold the marker, so masking what is masked changes nothing.
package secret

// Marker stands where a credential was.
const Marker = "…masked"

// Mask masks every credential in a whole text. Text without any is returned as
// it is, without a copy.
func Mask(text string) string {
	s := Stream{}
	out := s.Write(text)
	return out + s.Close()
}
