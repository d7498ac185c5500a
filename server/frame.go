package server

import (
	"net/http"

	"github.com/copilot-portal/portal/assets"
)

// framePolicy is that of the document in which generated interfaces run, in front of and behind the hash of its own script. It names
// no host. The code that a model wrote comes as a script from a blob, which nothing but that script can begin (trusted-types).
// Where the frame may be led is the policy of the page, too (frame-src).
const (
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src '"
	frameRest   = "' blob:; style-src 'unsafe-inline'; img-src data:; connect-src 'none'; worker-src 'none'; form-action 'none'; " +
		"base-uri 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types portal"
)

// framePermissions gives no feature to the frame, so that none of them connects in its place.
const framePermissions = "accelerometer=(), attribution-reporting=(), autoplay=(), bluetooth=(), browsing-topics=(), camera=(), clipboard-read=(), " +
	"clipboard-write=(), deferred-fetch=(), deferred-fetch-minimal=(), display-capture=(), encrypted-media=(), fullscreen=(), gamepad=(), geolocation=(), gyroscope=(), hid=(), " +
	"identity-credentials-get=(), idle-detection=(), join-ad-interest-group=(), keyboard-map=(), local-fonts=(), magnetometer=(), microphone=(), midi=(), " +
	"otp-credentials=(), payment=(), picture-in-picture=(), private-aggregation=(), private-state-token-issuance=(), " +
	"private-state-token-redemption=(), publickey-credentials-create=(), publickey-credentials-get=(), run-ad-auction=(), screen-wake-lock=(), serial=(), " +
	"shared-storage=(), storage-access=(), sync-xhr=(), usb=(), web-share=(), window-management=(), xr-spatial-tracking=()"

func newFrame() file {
	document, hash := assets.Frame()
	return file{name: "frame.html", data: document, header: http.Header{
		"Content-Security-Policy": {framePolicy + hash + frameRest},
		// No connection of any kind, navigation, preconnect, DNS prefetch and WebRTC included: https://wicg.github.io/connection-allowlists.
		// What no other mechanism of a browser covers.
		"Connection-Allowlist":   {"()"},
		"Permissions-Policy":     {framePermissions},
		"X-Dns-Prefetch-Control": {"off"},
		"Origin-Agent-Cluster":   {"?1"},
	}}
}
