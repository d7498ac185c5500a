package socket

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/websocket"
)

// refuse answers a request that does not become a connection.
func refuse(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	text, _ := json.Marshal(map[string]string{"error": strings.TrimPrefix(reason.Error(), "websocket: ")}) // cannot fail
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
	_, _ = w.Write(append(text, '\n')) // who is gone needs no answer
}

// Offers tells whether a request wants a WebSocket and would speak a subprotocol on it.
func Offers(r *http.Request, subprotocol string) bool {
	return websocket.IsWebSocketUpgrade(r) && slices.Contains(websocket.Subprotocols(r), subprotocol)
}
