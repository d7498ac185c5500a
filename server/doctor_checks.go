package server

import (
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
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// examineStorage checks whether sessions can be stored.
func examineStorage(ctx context.Context, c Config, log *slog.Logger) Finding {
	if c.Ephemeral {
		return okFinding("not used because of ephemeral: sessions are lost when the portal stops")
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
		return okFinding("%d is free on %s", c.Port, c.Host)
	}
	version, status := portalAt(ctx, c)
	switch {
	case version != "":
		return okFinding("a portal already listens on %d, version %s", c.Port, version)
	case status == http.StatusUnauthorized:
		return warningFinding("To find out, give its token with `--token` or PORTAL_TOKEN.",
			"%d is in use by a server that requires another token, perhaps a portal", c.Port)
	}
	return problemFinding("", "%v", err)
}

// askTime limits how long doctor waits for the responses of a server on the port.
const askTime = 10 * time.Second

// portalAt returns the version of the portal that listens on the configured port, or "" if no portal does,
// and the status of the response.
func portalAt(ctx context.Context, c Config) (version string, status int) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	resp, err := c.askOwn(ctx, http.MethodGet, "/health")
	if err != nil {
		return "", 0
	}
	defer resp.Body.Close() //nolint:errcheck // read-only
	var h struct {
		Status, Version string
		Agent           *struct{}
	}
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&h) != nil || h.Status != "ok" || h.Agent == nil {
		return "", resp.StatusCode
	}
	return h.Version, resp.StatusCode
}
