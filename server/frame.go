package server

import "github.com/copilot-portal/portal/assets"

// framePolicy is that of the document in which generated interfaces run, in front of and behind the hash of its own script. The code
// that a model wrote comes as a script from a blob, which nothing but that script can begin (trusted-types); it has no origin, no
// network and nothing that opens or leads elsewhere. Where the frame may be led is the policy of the page (frame-src).
const (
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src '"
	frameRest   = "' blob:; style-src 'unsafe-inline'; img-src data:; connect-src 'none'; worker-src 'none'; form-action 'none'; " +
		"base-uri 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types portal"
)

func newFrame() file {
	document, hash := assets.Frame()
	return file{name: "frame.html", data: document, policy: framePolicy + hash + frameRest}
}
