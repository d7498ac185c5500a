package ipc

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// suffix is how the names of sockets end.
const suffix = ".sock"

// maxPath is the longest path that all systems accept for a socket, in bytes.
const maxPath = 100

// withShortPath calls do with a path of the file that the system accepts for a socket.
func withShortPath(directory, file string, do func(path string) error) error {
	if path := filepath.Join(directory, file); len(path) <= maxPath {
		return do(path)
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "portal-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	link := filepath.Join(temporary, "d")
	if err := os.Symlink(absolute, link); err != nil {
		return err
	}
	return do(filepath.Join(link, file))
}

// listen opens the socket of a process.
func listen(directory, process string) (l *net.UnixListener, err error) {
	err = withShortPath(directory, process+suffix, func(path string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err == nil {
		l.SetUnlinkOnClose(false) // the path may have been a short one
	}
	return l, err
}

// dial connects to the socket of a process.
func dial(ctx context.Context, directory, process string) (c net.Conn, err error) {
	err = withShortPath(directory, process+suffix, func(path string) (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
		return err
	})
	return c, err
}

// dialTimeout limits the check whether a process still listens.
const dialTimeout = time.Second

// removeStale removes the sockets of processes that were killed.
func removeStale(directory string) {
	entries, _ := os.ReadDir(directory) // without them there is nothing to remove
	for _, e := range entries {
		process, isSocket := strings.CutSuffix(e.Name(), suffix)
		if !isSocket {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
		c, err := dial(ctx, directory, process)
		cancel()
		if err == nil {
			_ = c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(filepath.Join(directory, e.Name()))
		}
	}
}
