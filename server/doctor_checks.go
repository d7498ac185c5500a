package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// examineStorage checks whether sessions can be stored.
func examineStorage(ctx context.Context, c Config, log *slog.Logger) Finding {
	if c.Ephemeral {
		return okFinding("not used because of ephemeral: sessions are lost when the portal stops")
	}
	if err := c.missingDataDir(); err != nil {
		return problemFinding("", "%v", err)
	}
	if _, err := os.Stat(c.DataDir); err != nil || c.Cluster.isOn() { // a node's portal keeps others out
		return examineDirectory(c.DataDir)
	}
	kept := openStorage(ctx, c, log)
	defer kept.close(log)
	if t := kept.failure(); t != nil {
		return warningFinding("The portal works, but keeps sessions in memory only.", "%s", t.Text)
	}
	last, err := kept.store.List(ctx, store.Cursor{}, 1)
	switch {
	case err != nil:
		return warningFinding("", "%s: %v", c.DataDir, err)
	case len(last) == 0:
		return okFinding("%s is usable; it contains no sessions yet", c.DataDir)
	}
	return okFinding("%s is usable; its latest session changed at %s", c.DataDir, last[0].Changed.Format(time.DateTime))
}

// examineDirectory checks whether the portal could store data in a directory. It leaves nothing behind.
func examineDirectory(dir string) Finding {
	at, state := dir, "is writable"
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", at)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return unwritable(dir, err)
		}
		at, state = filepath.Dir(at), "can be created"
	}
	probe, err := os.MkdirTemp(at, ".portal-*")
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return unwritable(dir, err)
	}
	return okFinding("%s %s", dir, state)
}

func unwritable(dir string, err error) Finding {
	return warningFinding("Choose another directory with `--data-dir` or `data_dir`, or store nothing with `--ephemeral`.", "%s cannot be used: %v", dir, err)
}

// examinePort checks whether the port is free, and otherwise what uses it.
func examinePort(ctx context.Context, c Config) Finding {
	if c.Port == 0 {
		return okFinding("any free port")
	}
	open, err := listen(ctx, c.Host, c.Port)
	if err == nil {
		open.close()
		return okFinding("%d is free on %s", c.Port, cmp.Or(c.Host, "all addresses"))
	}
	if portal := portalAt(ctx, c); portal != "" {
		return okFinding("%s", portal)
	}
	return problemFinding("", "%v", err)
}

// askTime limits how long doctor waits for the responses of a server on the port.
const askTime = 10 * time.Second

// portalAt describes the portal that listens on the configured port; "" if no portal does. It sends no token, because any program
// may listen there.
func portalAt(ctx context.Context, c Config) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	u := c.ownURL(c.Port, "/health")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return ""
	}
	resp, err := c.TLS.ownTransport().RoundTrip(req) // follows no redirects
	if err != nil {
		return ""
	}
	defer resp.Body.Close() //nolint:errcheck // read-only
	var h struct {
		Status, Version, Error string
		Agent                  *struct{}
	}
	switch err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&h); {
	case err != nil:
	case h.Status == "ok" && h.Agent != nil:
		return fmt.Sprintf("a portal already listens on %d, version %s", c.Port, h.Version)
	case resp.StatusCode == http.StatusUnauthorized && strings.HasPrefix(h.Error, unauthorized):
		return fmt.Sprintf("a portal that requires a token already listens on %d", c.Port)
	}
	return ""
}

// minToken is the length below which a token can be guessed: wrong ones are counted, but the right one is always accepted.
const minToken = 16

// examineToken checks the configured token of a portal that others can reach.
func examineToken(c Config) Finding {
	if len(c.Token) < minToken && (!isLoopback(c.Host) || len(c.AllowedHosts) > 0) {
		return warningFinding("Set a random one, for example of `openssl rand -hex 16`.",
			"others can reach this portal, and its token has fewer than %d characters, so it can be guessed", minToken)
	}
	return okFinding("configured")
}
