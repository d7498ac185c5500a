package sdk

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/fault"
)

// maxPacked is the maximum size of the files of one saved conversation, in bytes. Conversations of 100 turns have half a megabyte.
const maxPacked = 64 << 20

// savedDirectory returns the directory in which the CLI saves a conversation.
func (d *Driver) savedDirectory(session string) (string, error) {
	if !fs.ValidPath(session) || strings.Contains(session, "/") || session == "." {
		return "", fault.Errorf(fault.Invalid, "%q is not the id of a conversation", session)
	}
	home, _ := process.Variable(d.options.Env, "COPILOT_HOME") // "" counts as unset
	if home == "" {
		user, _ := process.Variable(d.options.Env, "HOME")
		home = filepath.Join(user, ".copilot")
	}
	return filepath.Join(home, "session-state", session), nil
}

// Pack returns what the CLI has saved of a session's conversation, for [Driver.Unpack] on another machine. The agent must be idle. If
// nothing is saved, the error has kind [fault.NotFound].
func (d *Driver) Pack(ctx context.Context, session string) ([]byte, error) {
	directory, err := d.savedDirectory(session)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := awaitSettled(ctx, filepath.Join(directory, "events.jsonl")); err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	size := int64(0)
	err = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, ".lock") {
			return err
		}
		n, err := packFile(archive, directory, path)
		if size += n; size > maxPacked {
			return fmt.Errorf("the saved conversation is larger than %d MiB", maxPacked>>20)
		}
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// How long the CLI may go on writing after it is idle: it is done when a file has not changed for settleTime.
const (
	settleTime  = 100 * time.Millisecond
	settleLimit = 2 * time.Second
)

// awaitSettled returns when a file has not changed for a while, or when that takes too long.
func awaitSettled(ctx context.Context, file string) error {
	for began := time.Now(); ; {
		info, err := os.Stat(file)
		switch {
		case err == nil && time.Since(info.ModTime()) >= settleTime:
			return nil
		case time.Since(began) >= settleLimit && errors.Is(err, fs.ErrNotExist):
			return fault.Errorf(fault.NotFound, "the agent has saved nothing of the session: %w", err)
		case time.Since(began) >= settleLimit, err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		select {
		case <-time.After(settleTime / 4):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// packFile adds a file to an archive and returns its size.
func packFile(archive *tar.Writer, directory, path string) (size int64, err error) {
	data, err := os.ReadFile(path) //nolint:gosec // below the directory; at once, because the CLI may append to it
	if err != nil {
		return 0, err
	}
	name, err := filepath.Rel(directory, path)
	if err != nil {
		return 0, err
	}
	err = archive.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(data)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = archive.Write(data)
	}
	return int64(len(data)), err
}

// Unpack replaces what the CLI has saved of a session's conversation by what [Driver.Pack] returned. The conversation must not be open. If
// the packed copy is damaged, the error has kind [fault.Invalid].
func (d *Driver) Unpack(ctx context.Context, session string, packed []byte) error {
	directory, err := d.savedDirectory(session)
	if err != nil {
		return err
	}
	fresh := directory + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.MkdirAll(fresh, 0o700)); err != nil {
		return err
	}
	defer os.RemoveAll(fresh) //nolint:errcheck // it is renamed, or useless
	if err := unpackInto(ctx, fresh, packed); err != nil {
		if _, isOfDisk := errors.AsType[*fs.PathError](err); isOfDisk || ctx.Err() != nil {
			return fmt.Errorf("the saved conversation cannot be unpacked: %w", err)
		}
		return fault.Errorf(fault.Invalid, "the copy is damaged: %w", err)
	}
	return errors.Join(os.RemoveAll(directory), os.Rename(fresh, directory))
}

// unpackInto unpacks files into a directory and nowhere else.
func unpackInto(ctx context.Context, directory string, packed []byte) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	limited := io.LimitReader(compressed, maxPacked+1<<20)
	archive := tar.NewReader(limited)
	for ctx.Err() == nil {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, limited) // the checksum is at the end
			return err
		}
		if err == nil && head.Typeflag == tar.TypeReg {
			err = unpackFile(root, filepath.FromSlash(head.Name), archive)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func unpackFile(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
