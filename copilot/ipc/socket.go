package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// suffix is how the names of sockets end.
const suffix = ".sock"

// maxPath is the longest path that all systems accept for a socket, in bytes, without a suffix.
const maxPath = 95

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

// listen opens the socket of a process. The socket gets its name when it listens: before, others would take it for a stale one.
func listen(directory, process string) (l *net.UnixListener, err error) {
	err = withShortPath(directory, process, func(path string) (err error) {
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // it gets another name
		return os.Rename(path, path+suffix)
	})
	if err != nil && l != nil {
		_ = l.Close()
	}
	return l, err
}

// dial connects to the socket of a process. Its errors are [ErrUnreachable], wrapped.
func dial(ctx context.Context, directory, process string) (c net.Conn, err error) {
	err = withShortPath(directory, process+suffix, func(path string) (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return c, nil
}

// dialTimeout limits the check whether a process still listens.
const dialTimeout = time.Second

// refusedOnWindows is the error of Windows for a socket on which no process listens, WSAECONNREFUSED. It is no error of other systems.
const refusedOnWindows = syscall.Errno(10061)

// names returns the names of the processes that have sockets.
func names(directory string) (list []string) {
	entries, _ := os.ReadDir(directory) // without them there are none
	for _, e := range entries {
		if process, isSocket := strings.CutSuffix(e.Name(), suffix); isSocket {
			list = append(list, process)
		}
	}
	return list
}

// removeStale removes the sockets of processes that were killed.
func removeStale(directory string) {
	for _, process := range names(directory) {
		ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
		c, err := dial(ctx, directory, process)
		cancel()
		if err == nil {
			_ = c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, refusedOnWindows) {
			_ = os.Remove(filepath.Join(directory, process+suffix))
		}
	}
}
