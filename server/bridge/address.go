package bridge

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// target is the address of a portal.
type target struct {
	url   url.URL // of the WebSocket, without a query
	path  string  // the last part of it, which belongs to the dialect
	token string  // the token that the address contained
}

// String returns the address as users write it, without a trailing slash and without the token.
func (t target) String() string {
	u := t.url
	u.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	u.Path, u.RawPath = strings.TrimRight(strings.TrimSuffix(u.Path, t.path), "/"), ""
	return u.String()
}

// withDirectory returns the address to connect to, which names the directory of the UI.
func (t target) withDirectory(dir string) string {
	u := t.url
	if dir != "" {
		u.RawQuery = url.Values{"cwd": {dir}}.Encode()
	}
	return u.String()
}

// parse parses an address as a user writes it, or as a portal prints it. path is that of the dialect.
func parse(address, path string) (target, error) {
	full := strings.TrimSpace(address)
	if full != "" && strings.Trim(full, "0123456789") == "" {
		full = "localhost:" + full
	}
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return target{}, errors.New("the address of the portal is not valid; use one such as http://localhost:8888")
	}
	scheme := map[string]string{"http": "ws", "ws": "ws", "https": "wss", "wss": "wss"}[u.Scheme]
	switch {
	case scheme == "" || u.Hostname() == "":
		return target{}, fmt.Errorf("%q is not the address of a portal; use one such as http://localhost:8888", u.Redacted())
	case u.User != nil:
		return target{}, errors.New("the address of the portal must not contain a user; give its token with --token or PORTAL_TOKEN")
	}
	t := target{token: u.Query().Get("token"), path: path, url: url.URL{Scheme: scheme, Host: u.Host, Path: u.Path}}
	if !strings.HasSuffix(t.url.Path, "/"+path) { // a path ending in /ui/ is a base path
		t.url = *t.url.JoinPath(path)
	}
	return t, nil
}
