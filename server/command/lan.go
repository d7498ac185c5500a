package command

import (
	"bytes"
	"context"

	"github.com/mdp/qrterminal/v3"

	"github.com/copilot-portal/portal/server"
)

// printLAN prints the addresses for other devices, the first one also as a QR code, and the warning.
func printLAN(ctx context.Context, p Process, s *server.Server) {
	urls := s.LANURLs(ctx)
	if len(urls) == 0 {
		p.Err.Printf("This machine has no address on a network, so other devices cannot connect.\n")
		return
	}
	p.Err.Printf("On another device of your network, open this address or scan the code:\n")
	for _, url := range urls {
		p.Err.Printf("  %s\n", url)
	}
	var code bytes.Buffer // one write, so that no log line gets into it
	qrterminal.GenerateHalfBlock(urls[0], qrterminal.L, &code)
	p.Err.Printf("%s", code.String())
	if s.HasConfiguredToken() {
		p.Err.Printf("The address does not contain the configured token. Add ?token=… to it once.\n")
	}
	if !s.IsEncrypted() {
		p.Err.Printf("Warning: this is plain HTTP. Everyone on the network can read what you send and receive, and the token. Use it on networks that you trust, or set tls.cert and tls.key.\n")
	}
}
