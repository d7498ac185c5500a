package soak_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
)

// dialFunc connects a UI.
type dialFunc func(ctx context.Context, h *host) (*connection, error)

func dialUI(ctx context.Context, h *host) (*connection, error) { return h.dial(ctx, "/ui") }

// initialized connects a UI that shows everything.
func initialized(ctx context.Context, h *host, dial dialFunc) (*connection, error) {
	conn, err := dial(ctx, h)
	if err != nil {
		return nil, errors.Join(errRefused, err)
	}
	err = conn.ask("initialize", document{
		"protocol_version": "0", "client": document{"name": "soak", "version": "1"},
		"ui_capabilities": document{"supports_deltas": true, "supports_confirm": true},
	}, nil)
	if err != nil {
		conn.close()
		return nil, errors.Join(errRefused, err)
	}
	return conn, nil
}

func openUI(dial dialFunc) func(context.Context, *host, string) (string, error) {
	return func(ctx context.Context, h *host, dir string) (string, error) {
		conn, err := initialized(ctx, h, dial)
		if err != nil {
			return "", err
		}
		defer conn.close()
		var r struct {
			SessionID string `json:"session_id"`
		}
		err = conn.ask("portal.session.start", document{"directory": dir, "model": "demo", "permissions": document{"exec.run": "ask"}}, &r)
		return r.SessionID, err
	}
}

func promptUI(dial dialFunc) func(context.Context, *host, string, string) error {
	return func(ctx context.Context, h *host, session, text string) error {
		conn, err := initialized(ctx, h, dial)
		if err != nil {
			return err
		}
		defer conn.close()
		return conn.ask("run.start", document{"session_id": session, "input": document{"type": "text", "text": text}}, nil)
	}
}

// readUI attaches to the session after the last cursor.
func readUI(dial dialFunc) func(context.Context, *watcher) error {
	return func(ctx context.Context, w *watcher) error {
		conn, err := initialized(ctx, w.host, dial)
		if err != nil {
			return err
		}
		defer conn.close()
		params := document{"session_id": w.session, "max_runs": 1000, "max_events": 20_000}
		if w.position != "" {
			params["after"] = w.position
		}
		const attach = "attach"
		if err := conn.send(document{"jsonrpc": "2.0", "id": attach, "method": "portal.session.attach", "params": params}); err != nil {
			return err
		}
		past := []reply{} // until the result says how it continues
		for {
			r, err := conn.receive()
			switch {
			case err != nil:
				return err
			case r.Method == "portal.session.reset":
				return errors.New(r.Method)
			case r.Method == "ui.confirm.request":
				err = conn.send(document{"jsonrpc": "2.0", "id": r.ID, "result": document{"ok": true}})
			case r.Method != "" && past != nil:
				past = append(past, r)
			case r.Method != "":
				err = w.takeNotification(r)
			case r.ID == attach:
				err = w.attached(r, past)
				past = nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// attached handles the result of an attach. After a reset, the past is the whole history.
func (w *watcher) attached(r reply, past []reply) error {
	var result struct{ Reset, Truncated bool }
	if err := r.decode(&result); err != nil {
		return err
	}
	if result.Truncated {
		w.learn("truncated")
	}
	if result.Reset {
		w.startAgain()
	}
	for _, one := range past {
		if err := w.takeNotification(one); err != nil {
			return err
		}
	}
	return nil
}

type notification struct {
	RunID  string `json:"run_id"`
	Status string
	Event  struct {
		Type, Target, ID, Content, Message string
		CallID                             string `json:"tool_call_id"`
		QuestionID                         string `json:"question_id"`
	}
	Meta struct{ Cursor, ID string }
}

func (w *watcher) takeNotification(r reply) error {
	var n notification
	if err := json.Unmarshal(r.Params, &n); err != nil {
		return err
	}
	if r.Method == "run.status" && n.Status != "running" && n.Status != "awaiting_ui" {
		w.learn("end " + n.RunID + " " + n.Status)
	}
	w.position = cmp.Or(n.Meta.Cursor, w.position)
	if r.Method != "agent.event" {
		return nil
	}
	e := n.Event
	switch e.Type {
	case "hidden_user_message":
		w.learn("prompt " + n.RunID + " " + e.Content)
	case "delta":
		w.takeDelta(e.Target, e.ID, e.Content)
	case "reasoning":
		w.takeBlock("reasoning "+n.Meta.ID, e.Content)
	case "text":
		w.takeBlock("message "+n.Meta.ID, e.Content)
	case "final":
		if e.Content != "" {
			w.takeBlock("message "+n.Meta.ID, e.Content)
		}
	case "tool_call":
		w.learn("call " + e.CallID)
	case "tool_result":
		w.learn("result " + e.CallID)
	case "question_answered":
		w.learn("answered " + e.QuestionID)
	case "error":
		w.learn("error " + firstLine(e.Message))
	}
	return nil
}

func (w *watcher) takeDelta(target, id, content string) {
	switch {
	case content == "":
	case target == "text":
		w.hear("message "+id, content)
	case target == "reasoning":
		w.hear("reasoning "+id, content)
	}
}

// takeBlock handles a complete block. An empty one retracts the text.
func (w *watcher) takeBlock(block, content string) {
	if content == "" {
		w.forget(block)
		return
	}
	w.hearWhole(block, content)
}
