package socket

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/websocket"
)

// refuse answers a request that is not upgraded.
func (s *Server) refuse(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	header := w.Header()
	if status != http.StatusServiceUnavailable {
		header.Set("Sec-WebSocket-Version", "13")
	}
	if status == http.StatusUpgradeRequired {
		header.Set("Connection", "Upgrade")
		header.Set("Upgrade", "websocket")
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	text := s.options.Refusal(status, strings.TrimPrefix(reason.Error(), "websocket: "))
	_, _ = w.Write(append(text, '\n')) // fails if the client is gone
}

// refusal is the default of [Options.Refusal].
func refusal(_ int, text string) []byte {
	body, _ := json.Marshal(map[string]string{"error": text}) // cannot fail
	return body
}

// Offers reports whether a request is for a WebSocket and offers a subprotocol.
func Offers(r *http.Request, subprotocol string) bool {
	return websocket.IsWebSocketUpgrade(r) && slices.Contains(websocket.Subprotocols(r), subprotocol)
}
