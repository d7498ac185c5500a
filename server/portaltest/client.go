package portaltest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// Response is a JSON document of the REST dialect.
type Response map[string]any

// Name returns the callback of a response of live, or the name of the error that it has instead.
func (r Response) Name() string {
	for _, key := range []string{"callback", "sessionError", "error"} {
		if s, ok := r[key].(string); ok {
			if key == "callback" {
				return s
			}
			return key
		}
	}
	return ""
}

// Text returns a member of the response, or "" if it is not a string.
func (r Response) Text(key string) string {
	s, _ := r[key].(string)
	return s
}

// Do sends a request and returns the response. An exchange with a plain HTTP route must fit spec/openapi.yaml. The path begins with a slash; header contains names and
// values in turn.
func (p *Portal) Do(method, path, body string, header ...string) (status int, answer string) {
	p.t.Helper()
	status, answer, err := p.Try(method, path, body, header...)
	if err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
	}
	return status, answer
}

// Try is like Do, for a portal that may have ended.
func (p *Portal) Try(method, path, body string, header ...string) (status int, answer string, err error) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	client := http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // read-only
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.Header.Get("Content-Encoding") == "" {
		contract.Check(p.t, contract.Exchange{
			Method: method, Path: path, Request: body, Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Response: string(b),
		})
	}
	return resp.StatusCode, string(b), err
}

// API calls the REST dialect below /api/ and decodes its JSON.
func (p *Portal) API(method, path, body string) Response {
	p.t.Helper()
	_, answer := p.Do(method, "/api/"+path, body)
	var r Response
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		p.t.Errorf("%s %s answered %q: %v", method, path, answer, err)
	}
	return r
}

// StartSession starts a session on the demo model and returns its id. query is added to the address, as in
// "permissions=ask".
func (p *Portal) StartSession(dir, query string) string {
	p.t.Helper()
	r := p.API("POST", "copilot/session/start/demo?"+query, dir)
	id := r.Text("sessionId")
	if id == "" {
		p.t.Fatalf("the session did not start: %v; stderr:\n%s", r, p.Stderr())
	}
	return id
}

// Query sends a prompt.
func (p *Portal) Query(id, prompt string) {
	p.t.Helper()
	if r := p.API("POST", "copilot/session/"+url.PathEscape(id)+"/query", prompt); len(r) != 0 {
		p.t.Fatalf("the query was refused: %v", r)
	}
}

// Live returns the next response of live. It polls again after a timeout.
func (p *Portal) Live(id string) Response {
	p.t.Helper()
	for {
		r := p.API("GET", "copilot/session/"+id+"/live", "")
		if r["error"] != "HttpRequestTimeout" {
			return r
		}
	}
}

// Until collects responses up to and including the first with this name, which must arrive within two
// minutes: on a busy machine, the CLI takes one minute for a prompt of 10 MB.
func (p *Portal) Until(id, name string) []Response {
	p.t.Helper()
	var all []Response
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		r := p.Live(id)
		all = append(all, r)
		if r.Name() == name {
			return all
		}
		if r.Name() == "error" {
			break
		}
	}
	p.t.Fatalf("no %s but %v; stderr:\n%s", name, all, p.Stderr())
	return nil
}

// Run sends a prompt and collects all responses up to onIdle.
func (p *Portal) Run(id, prompt string) []Response {
	p.t.Helper()
	p.Query(id, prompt)
	return p.Until(id, "onIdle")
}

// Answer returns the text of the last complete message.
func Answer(responses []Response) string {
	text := ""
	for _, r := range responses {
		if r.Name() == "onEndMessage" && r.Text("completeContent") != "" {
			text = r.Text("completeContent")
		}
	}
	return text
}
