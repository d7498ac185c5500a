package socket

import (
	"encoding/json"
	"net/http"
	"strings"
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
