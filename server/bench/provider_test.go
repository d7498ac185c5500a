package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// modelID is the one model of the provider.
const modelID = "stamp"

// stream is a prompt that the model answers with n chunks, so many a second; 0
// for as fast as they are taken.
func stream(n, perSecond int) string { return fmt.Sprintf("stream %d chunks at %d/s", n, perSecond) }

// markdown is a prompt that the model answers with n pieces of Markdown.
func markdown(n, perSecond int) string { return fmt.Sprintf("stream %d pieces at %d/s", n, perSecond) }

var wanted = regexp.MustCompile(`stream (\d+) (chunks|pieces|lines) at (\d+)/s`)

// startModel serves a model that puts the time into its words: each chunk is the
// moment at which it was sent, in nanoseconds since 1970. It gives its address.
func startModel(tb testing.TB) string {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(complete))
	tb.Cleanup(s.Close)
	return s.URL
}

// gatedModel keeps each answer that streams until it is opened.
type gatedModel struct {
	url    string
	asked  chan struct{}
	opened chan struct{}
}

func startGatedModel(tb testing.TB) *gatedModel {
	tb.Helper()
	m := &gatedModel{asked: make(chan struct{}, 1), opened: make(chan struct{}, 1)}
	s := httptest.NewServer(http.HandlerFunc(m.complete))
	tb.Cleanup(s.Close)
	m.url = s.URL
	return m
}

// await returns when the agent waits for an answer that streams.
func (m *gatedModel) await(tb testing.TB) {
	tb.Helper()
	select {
	case <-m.asked:
	case <-time.After(30 * time.Second):
		tb.Fatal("the model was not asked in 30 s")
	}
}

// open lets that answer come.
func (m *gatedModel) open() { m.opened <- struct{}{} }

func (m *gatedModel) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if n, _, _ := order(body); n > 0 {
		m.asked <- struct{}{}
		select {
		case <-m.opened:
		case <-r.Context().Done():
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	complete(w, r)
}

func complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := &chunks{w: w, control: http.NewResponseController(w)}
	n, rate, kind := order(body)
	if n == 0 {
		out.send("ok", "")
	}
	var tick <-chan time.Time
	if rate > 0 {
		t := time.NewTicker(time.Second / time.Duration(rate))
		defer t.Stop()
		tick = t.C
	}
	for i := range n {
		if tick != nil {
			select {
			case <-tick:
			case <-r.Context().Done():
				return
			}
		}
		if !out.send(say(kind, i), "") {
			return
		}
	}
	out.send("", "stop")
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// say is the ith text of an answer.
func say(kind string, i int) string {
	now := strconv.FormatInt(time.Now().UnixNano(), 10)
	switch kind {
	case "pieces":
		return piece(i)
	case "lines":
		return "@" + now + "\n"
	default:
		return now + " "
	}
}

// order reads what the last prompt of a request wants.
func order(body []byte) (n, perSecond int, kind string) {
	var request struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &request) != nil {
		return 0, 0, ""
	}
	for i := len(request.Messages) - 1; i >= 0; i-- {
		if request.Messages[i].Role == "user" {
			if m := wanted.FindSubmatch(request.Messages[i].Content); m != nil {
				n, _ = strconv.Atoi(string(m[1]))
				perSecond, _ = strconv.Atoi(string(m[3]))
				kind = string(m[2])
			}
			return n, perSecond, kind
		}
	}
	return 0, 0, ""
}

// pieceBytes is about as much as a model says at a time.
const pieceBytes = 8

// piece is the ith piece of an answer in Markdown that goes on and on.
func piece(i int) string {
	from := i * pieceBytes % len(answered)
	return (answered + answered)[from : from+pieceBytes]
}

// chunks writes server-sent events.
type chunks struct {
	w       io.Writer
	control *http.ResponseController
	line    bytes.Buffer
}

// send is false when nobody listens any more.
func (c *chunks) send(text, finish string) bool {
	reason := "null"
	if finish != "" {
		reason = strconv.Quote(finish)
	}
	c.line.Reset()
	fmt.Fprintf(&c.line, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":%q,"choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n",
		modelID, text, reason)
	_, err := c.w.Write(c.line.Bytes())
	return err == nil && c.control.Flush() == nil
}

// delays are the times from the model to the reader that the stamps in a text tell.
func delays(text string, at time.Time) (list []time.Duration) {
	for _, word := range strings.Fields(text) {
		if ns, err := strconv.ParseInt(word, 10, 64); err == nil {
			list = append(list, at.Sub(time.Unix(0, ns)))
		}
	}
	return list
}
