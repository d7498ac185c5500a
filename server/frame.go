package server

import (
	"net/http"

	"github.com/copilot-portal/portal/assets"
)

// framePolicy and frameRest are the Content-Security-Policy of the document that runs generated interfaces;
// the hash of its script goes between them. The policy names no host. Generated code runs as a script from a
// blob that only the document's own script can create (trusted-types). The page's policy restricts where the
// frame may navigate (frame-src).
const (
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src '"
	frameRest   = "' blob:; style-src 'unsafe-inline'; img-src data:; connect-src 'none'; worker-src 'none'; form-action 'none'; " +
		"base-uri 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types portal"
)

// framePermissions denies every browser feature to the frame, because some can open connections.
const framePermissions = "accelerometer=(), attribution-reporting=(), autoplay=(), bluetooth=(), browsing-topics=(), camera=(), clipboard-read=(), " +
	"clipboard-write=(), deferred-fetch=(), deferred-fetch-minimal=(), display-capture=(), encrypted-media=(), fullscreen=(), gamepad=(), geolocation=(), gyroscope=(), hid=(), " +
	"identity-credentials-get=(), idle-detection=(), join-ad-interest-group=(), keyboard-map=(), local-fonts=(), magnetometer=(), microphone=(), midi=(), " +
	"otp-credentials=(), payment=(), picture-in-picture=(), private-aggregation=(), private-state-token-issuance=(), " +
	"private-state-token-redemption=(), publickey-credentials-create=(), publickey-credentials-get=(), run-ad-auction=(), screen-wake-lock=(), serial=(), " +
	"shared-storage=(), storage-access=(), sync-xhr=(), usb=(), web-share=(), window-management=(), xr-spatial-tracking=()"

func newFrame() *file {
	document, hash := assets.Frame()
	frame := newFile("frame.html", func() []byte { return document })
	frame.header = http.Header{
		"Content-Security-Policy": {framePolicy + hash + frameRest},
		// Connection-Allowlist blocks every kind of connection, including what no other mechanism covers:
		// navigation, preconnect, DNS prefetch and WebRTC. See https://wicg.github.io/connection-allowlists.
		"Connection-Allowlist":   {"()"},
		"Permissions-Policy":     {framePermissions},
		"X-Dns-Prefetch-Control": {"off"},
		"Origin-Agent-Cluster":   {"?1"},
	}
	return frame
}
