package ui_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

// TestJoiningAtAnyEventEqualsReadingFromStart joins at every event of a run:
// as a second window with pages of several sizes, and as one that was there until
// then and comes back when the run is over. Later all have the transcript of the UI
// that never left.
func TestJoiningAtAnyEventEqualsReadingFromStart(t *testing.T) {
	ends := map[string]func(*portal, *fake.Steps, *copilot.Session){
		"completed": func(_ *portal, s *fake.Steps, _ *copilot.Session) { s.End() },
		"stopped":   func(p *portal, _ *fake.Steps, s *copilot.Session) { require.NoError(p, s.Cancel("")) },
		"killed":    func(_ *portal, s *fake.Steps, _ *copilot.Session) { s.Do((*fake.Turn).Kill) },
		"failed": func(_ *portal, s *fake.Steps, _ *copilot.Session) {
			s.Do(func(t *fake.Turn) { t.Emit(event.SessionError{Kind: fault.Unavailable, Text: "no quota"}) })
			s.End()
		},
		"closed": func(p *portal, _ *fake.Steps, s *copilot.Session) { require.NoError(p, s.Close()) },
	}
	for name, end := range ends {
		for kind, can := range map[string][]string{"deltas": {"supports_deltas", "supports_html"}, "contract": nil} {
			t.Run(name+" "+kind, func(t *testing.T) {
				every := 8 // how a run ends matters less for where one joins than what it does
				if name == "completed" {
					every = 1
				}
				inTime(t, func(p *portal) { joinEverywhere(p, can, every, end) })
			})
		}
	}
}

// joinEverywhere joins after every so many events of a run, and leaves there with others.
func joinEverywhere(p *portal, can []string, every int, end func(*portal, *fake.Steps, *copilot.Session)) {
	steps := fake.NewSteps()
	p.Agents.Script = func(t *fake.Turn) {
		if t.Prompt != "go" {
			t.Say(t.Prompt)
			return
		}
		steps.Script(t)
	}
	s := p.Begun()
	_, err := s.Prompt(event.Prompt{Text: "before"})
	require.NoError(p, err)
	synctest.Wait()
	first := joins(p, s, can, 300)
	_, err = s.Prompt(event.Prompt{Text: "go", Attachments: []event.Attachment{{Name: "a.txt", Text: "a"}}})
	require.NoError(p, err)
	synctest.Wait()

	var joined []*reader
	var left []*reader
	join := func(at int) {
		time.Sleep(time.Second) // so that times differ
		r := joins(p, s, can, 0)
		r.name = fmt.Sprintf("joined at %d", at)
		joined = append(joined, r)
		r = joins(p, s, can, 300)
		r.name = fmt.Sprintf("away from %d on", at)
		r.leave()
		left = append(left, r)
	}
	for i, step := range fake.Eventful() {
		if i == 10 || i == 38 { // in the middle of a text each
			_, err := s.Prompt(event.Prompt{Text: fmt.Sprint("steer ", i), Steer: true})
			require.NoError(p, err)
			synctest.Wait()
		}
		steps.Do(step)
		synctest.Wait()
		if i%every == 0 {
			join(i)
		}
	}
	end(p, steps, s)
	synctest.Wait()
	time.Sleep(5 * time.Minute) // deltas are gone
	join(-1)
	for _, r := range left {
		r.comeBack(s)
	}
	want := first.transcript()
	require.Contains(p, want, "steer 38")
	for _, r := range append(joined, left...) {
		r.pageBack(s)
		require.Equal(p, want, r.transcript(), r.name)
	}
}

// reader is a UI that makes a transcript of what it receives, as the page does.
type reader struct {
	*uitest.Screen
	name    string
	earlier any
	size    int
	can     []string
	early   []document // of pages
	told    []document
}

func joins(p *portal, s *copilot.Session, can []string, size int) *reader {
	p.Helper()
	r := &reader{Screen: p.Able(can...), size: size, can: can}
	r.earlier = r.Ask("portal.session.attach", document{"session_id": s.ID(), "max_events": size, "max_runs": 200})["earlier"]
	return r
}

func (r *reader) take() {
	r.told = append(r.told, r.Raw()...)
	r.Heard()
}

func (r *reader) leave() {
	r.take()
	close(r.In)
}

// comeBack continues with another connection, after the last cursor.
func (r *reader) comeBack(s *copilot.Session) {
	cursor := ""
	for _, f := range r.told {
		if params, _ := f["params"].(document); params["meta"] != nil {
			cursor, _ = params["meta"].(document)["cursor"].(string)
		}
	}
	r.Screen = r.Able(r.can...)
	result := r.Ask("portal.session.attach", document{"session_id": s.ID(), "after": cursor})
	require.NotContains(r, result, "reset", r.name)
}

func (r *reader) pageBack(s *copilot.Session) {
	r.take()
	for r.earlier != nil {
		page := r.Ask("portal.session.earlier", document{"session_id": s.ID(), "before": r.earlier, "max_events": max(1, r.size), "max_runs": 200})
		messages, _ := page["messages"].([]any)
		require.NotEmpty(r, messages, r.name)
		var list []document
		for _, m := range messages {
			list = append(list, m.(document))
		}
		r.early = append(list, r.early...)
		r.Heard()
		r.earlier = page["earlier"]
	}
}

// transcript is what a person sees in the end, a line an item, in the order of their
// beginnings.
func (r *reader) transcript() string {
	r.take()
	t := transcript{items: map[string][]string{}, pieces: map[string]string{}, whole: map[string]bool{}, began: map[string]float64{}, tokens: map[string]float64{}}
	for _, f := range slices.Concat(r.early, r.told) {
		t.take(f)
	}
	var b strings.Builder
	for _, key := range t.order {
		if item := slices.Clone(t.items[key]); strings.Join(item, "")+t.pieces[key] != "" { // an earlier page may tell the beginning of a text of which nothing came
			if t.pieces[key] != "" {
				item = append(item, t.pieces[key])
			}
			fmt.Fprintf(&b, "%s: %s\n", uitest.WithoutIDs(key), strings.Join(item, " | "))
		}
	}
	return b.String()
}

type transcript struct {
	order  []string
	items  map[string][]string
	pieces map[string]string // of incomplete blocks
	whole  map[string]bool
	began  map[string]float64 // runs, in ms
	tokens map[string]float64 // by run
}

func (t *transcript) at(key string) {
	if !slices.Contains(t.order, key) {
		t.order = append(t.order, key)
	}
}

// end says that what came in pieces is complete.
func (t *transcript) end(key string) {
	t.whole[key] = true
	delete(t.pieces, key)
}

func (t *transcript) take(f document) {
	params, _ := f["params"].(document)
	meta, _ := params["meta"].(document)
	run, _ := params["run_id"].(string)
	switch f["method"] {
	case "run.status":
		switch status := params["status"]; status {
		case "running", "awaiting_ui":
			if t.began[run] == 0 {
				t.began[run], _ = meta["time"].(float64)
			}
		default:
			t.at(run + "/end")
			t.items[run+"/end"] = []string{fmt.Sprint(status, params["message"], " took ", meta["time"].(float64)-t.began[run], " tokens ", t.tokens[run])}
		}
	case "agent.event":
		t.event(run, meta, params["event"].(document))
	}
}

func (t *transcript) event(run string, meta, e document) {
	id := fmt.Sprint(meta["id"])
	if meta["id"] == nil {
		id = fmt.Sprint("#", meta["cursor"])
	}
	set := func(key string, parts ...any) {
		t.at(run + "/" + key)
		t.items[run+"/"+key] = []string{fmt.Sprint(parts...)}
	}
	add := func(key string, parts ...any) {
		t.at(run + "/" + key)
		line := fmt.Sprint(parts...)
		if !slices.Contains(t.items[run+"/"+key], line) { // sent again where a page starts
			t.items[run+"/"+key] = append(t.items[run+"/"+key], line)
		}
	}
	switch kind := e["type"]; kind {
	case "hidden_user_message":
		set("prompt "+id, e["content"], " steers ", e["steers"], " with ", e["attachments"])
	case "delta":
		key := fmt.Sprint(run, "/", e["target"], " ", e["id"])
		t.at(key)
		if !t.whole[key] {
			t.pieces[key] += fmt.Sprint(e["content"])
		}
	case "text", "final", "reasoning":
		if kind == "final" {
			kind = "text"
		}
		key := fmt.Sprint(kind, " ", id)
		set(key, e["content"])
		t.end(run + "/" + key)
	case "step_start":
		add(fmt.Sprint("tool ", e["step_id"]), kind, e["title"], e["step_number"])
	case "tool_call", "tool_result":
		key := fmt.Sprint("tool ", e["tool_call_id"])
		if kind == "tool_result" {
			t.end(run + "/" + key)
		}
		add(key, kind, e["tool"], e["args"], e["result"], e["is_error"])
	case "step_complete":
		add(fmt.Sprint("tool ", e["step_id"]), kind, e["status"], e["duration_ms"])
	case "usage":
		if e["input_tokens"] != nil {
			t.tokens[run] += e["input_tokens"].(float64) + e["output_tokens"].(float64)
		}
	case "subagent_start", "subagent_end":
		add(fmt.Sprint("agent ", e["agent"]), kind, e["title"], e["tokens"])
	case "error":
		add("error "+id, e["message"])
	}
}

func TestSteeringPromptIsMarked(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := p.Begun()
		u := p.Able("supports_deltas")
		u.Ask("portal.session.attach", document{"session_id": s.ID()})
		for i, steer := range []bool{false, true} {
			_, err := s.Prompt(event.Prompt{Text: fmt.Sprint(i), Steer: steer})
			require.NoError(t, err)
			synctest.Wait()
		}
		assert.Equal(t, []any{nil, true}, told(u, "hidden_user_message", "steers"))
		v := p.Able("supports_deltas")
		v.Ask("portal.session.attach", document{"session_id": s.ID(), "max_events": 1})
		assert.Equal(t, []any{true}, told(v, "hidden_user_message", "steers"), "also where the first prompt is not told")
	})
}
