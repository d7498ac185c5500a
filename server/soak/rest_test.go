package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/server/portaltest"
)

func openREST(ctx context.Context, h *host, dir string) (session string, err error) {
	var r struct {
		SessionID string `json:"sessionId"`
	}
	err = h.post(ctx, "/api/copilot/session/start/demo?permissions=ask&interactive=false", dir, &r)
	return r.SessionID, err
}

func promptREST(ctx context.Context, h *host, session, text string) error {
	var r struct{ Error string }
	if err := h.post(ctx, "/api/copilot/session/"+session+"/query", text, &r); err != nil || r.Error == "" {
		return err
	}
	return errRefused
}

// errRefused means that a prompt was certainly not accepted.
var errRefused = errors.New("refused")

func answerREST(ctx context.Context, w *watcher, question string) {
	_ = w.host.post(ctx, "/api/copilot/session/"+w.session+"/answer/"+question, `{"approved": true}`, nil) // asked again by the next connection
}

// readLive reads with live and a token, or with live alone. The portal keeps the position.
func readLive(token string) func(context.Context, *watcher) error {
	return func(ctx context.Context, w *watcher) error {
		for {
			var raw json.RawMessage
			if err := w.host.get(ctx, "/api/copilot/session/"+w.session+"/live"+token, &raw); err != nil {
				return err
			}
			var several struct{ Responses []portaltest.Response }
			var one portaltest.Response
			if err := errors.Join(json.Unmarshal(raw, &several), json.Unmarshal(raw, &one)); err != nil {
				return err
			}
			if name := one.Text("error"); name != "" {
				if name == "HttpRequestTimeout" {
					continue
				}
				return errors.New(name)
			}
			if several.Responses == nil {
				several.Responses = []portaltest.Response{one}
			}
			for _, r := range several.Responses {
				w.takeResponse(ctx, r)
			}
		}
	}
}

func (w *watcher) takeResponse(ctx context.Context, r portaltest.Response) {
	switch r.Name() {
	case "onUserMessage":
		w.learn("prompt " + r.Text("runId") + " " + r.Text("content"))
	case "onReasoning":
		w.hear("reasoning "+r.Text("reasoningId"), r.Text("delta"))
	case "onMessage":
		w.hear("message "+r.Text("messageId"), r.Text("delta"))
	case "onEndReasoning":
		w.hearWhole("reasoning "+r.Text("reasoningId"), r.Text("completeContent"))
		w.learn(said("reasoning", r.Text("reasoningId"), r.Text("completeContent")))
	case "onEndMessage":
		w.hearWhole("message "+r.Text("messageId"), r.Text("completeContent"))
		w.learn(said("message", r.Text("messageId"), r.Text("completeContent")))
	case "onStartToolExecution":
		w.learn("call " + r.Text("toolCallId"))
	case "onEndToolExecution":
		w.learn("result " + r.Text("toolCallId"))
	case "onPermissionRequest":
		w.learn("asked " + r.Text("requestId"))
		w.ask(ctx, r.Text("requestId"))
	case "onQuestionAnswered":
		delete(w.open, r.Text("requestId"))
		w.learn("answered " + r.Text("requestId"))
	case "onIdle":
		w.learn("end")
	case "sessionError":
		w.learnError(r.Text("sessionError"))
	}
}

// learnError keeps an error of the session, or the notice that a killed portal had not stored its last events.
func (w *watcher) learnError(text string) {
	if strings.HasPrefix(text, "gap: some of the last events up to ") {
		w.startPiece()
		return
	}
	w.learn("error " + firstLine(text))
}

// said is the end of a text; "" for an empty one, which some dialects do not report.
func said(kind, id, text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("said %s %s", kind, id)
}
