package bench_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// plainPage is the baseline of the page: it only appends the texts that come over
// its WebSocket.
const plainPage = `<!doctype html><meta charset="utf-8"><title>plain</title><pre id="text"></pre><script>
const begin = (query) => {
  const text = document.getElementById("text");
  text.textContent = "";
  const socket = new WebSocket("ws://" + location.host + "/texts" + query);
  socket.onmessage = ({ data }) => {
    text.append(data);
    scrollTo(0, document.body.scrollHeight);
  };
};
begin("");
</script>`

// startPlain serves it. "?n=" of its socket tells how many texts come, "?rate=" how many a second.
func startPlain(b *testing.B) string {
	b.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, plainPage) })
	mux.HandleFunc("/texts", sendTexts)
	s := httptest.NewServer(mux)
	b.Cleanup(s.Close)
	return s.URL
}

func sendTexts(w http.ResponseWriter, r *http.Request) {
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	n, _ := strconv.Atoi(r.FormValue("n"))
	rate, _ := strconv.Atoi(r.FormValue("rate"))
	for i := range n {
		if rate > 0 {
			time.Sleep(time.Second / time.Duration(rate))
		}
		if conn.WriteMessage(websocket.TextMessage, []byte(piece(i))) != nil {
			return
		}
	}
	_ = conn.WriteMessage(websocket.TextMessage, []byte(lastAnswer))
	_, _, _ = conn.ReadMessage() // until the page goes
}
