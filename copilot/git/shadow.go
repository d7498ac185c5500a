package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/atomicfile"
)

// Shadow is a git directory of the portal's own beside a work tree: with its own objects, references and indexes. It
// stores files as they are, byte for byte, and never touches a repository of the work tree. Its methods may be called
// concurrently.
type Shadow struct {
	dir  string // the git directory
	work string // where git runs: a directory of the work tree
	env  []string
	held []*os.File // what its processes keep open
}

// Hold makes the processes of this shadow keep a file open, so that a lock on it lasts until the last of them has ended, even
// if this process is killed. It must be called before all others. On Windows it does nothing.
func (s *Shadow) Hold(file *os.File) {
	if file != nil && runtime.GOOS != "windows" {
		s.held = append(s.held, file)
	}
}

// shadowConfig makes git store every name and never start anything by itself.
const shadowConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	symlinks = true
	logallrefupdates = false
	fsmonitor = false
	hooksPath = /dev/null
	protectNTFS = false
	protectHFS = false
	splitIndex = false
	untrackedCache = false
	ignorecase = %t
[gc]
	auto = 0
[maintenance]
	auto = false
[diff]
	algorithm = histogram
`

// shadowAttributes override the attributes of the work tree: git converts nothing and starts no filter.
const shadowAttributes = "* -text -eol -ident -filter -working-tree-encoding !diff !merge\n"

// NewShadow returns the shadow in a git directory, which it creates if necessary, for a directory in a place.
func NewShadow(ctx context.Context, dir, directory string, p Place) (*Shadow, error) {
	s := &Shadow{dir: dir, work: directory}
	s.env = append(environment(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR="+dir, "GIT_WORK_TREE="+p.Top,
		"GIT_AUTHOR_NAME=portal", "GIT_AUTHOR_EMAIL=portal", "GIT_COMMITTER_NAME=portal", "GIT_COMMITTER_EMAIL=portal",
		"GIT_AUTHOR_DATE=", "GIT_COMMITTER_DATE=", "GIT_LITERAL_PATHSPECS=1")
	if p.ExcludesFile != "" {
		s.env = append(s.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.excludesFile", "GIT_CONFIG_VALUE_0="+p.ExcludesFile)
	}
	for _, d := range []string{"objects", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/none\n", "config": fmt.Sprintf(shadowConfig, p.FoldsCase), "info/attributes": shadowAttributes, "info/exclude": string(p.Excludes),
	} {
		if err := keep(filepath.Join(dir, name), text); err != nil {
			return nil, err
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, err
	}
	return s, ctx.Err()
}

// keep writes a file unless it has this text already. A process that reads it meanwhile sees the old or the new text.
func keep(name, text string) error {
	if old, err := os.ReadFile(name); err == nil && string(old) == text { //nolint:gosec // in the data directory
		return nil
	}
	return atomicfile.Replace(name, []byte(text))
}

// Call is one call of git in a [Shadow].
type Call struct {
	Args   []string
	Index  string    // path of the index; "": none is needed
	Input  io.Reader // nil: empty
	Expect []int     // exit codes besides 0 that are no errors
	Time   time.Time // of a commit that is created; zero: now
	// WorkTree replaces the work tree; git runs in it, and takes paths as patterns.
	WorkTree string
}

// command returns the process of a call.
func (s *Shadow) command(ctx context.Context, c Call) *exec.Cmd {
	env := s.env[:len(s.env):len(s.env)]
	if c.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+c.Index)
	}
	if !c.Time.IsZero() {
		env = append(env, fmt.Sprintf("GIT_COMMITTER_DATE=@%d +0000", c.Time.Unix()))
	}
	work := s.work
	if c.WorkTree != "" {
		work, env = c.WorkTree, append(env, "GIT_WORK_TREE="+c.WorkTree, "GIT_LITERAL_PATHSPECS=0")
	}
	command := call(ctx, work, env, c.Args...)
	command.Stdin, command.ExtraFiles = c.Input, s.held
	ownGroup(command)
	return command
}

// Run runs git and returns its output. Errors: that of ctx, [Error], or git is missing.
func (s *Shadow) Run(ctx context.Context, c Call) ([]byte, error) {
	command := s.command(ctx, c)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	for _, code := range c.Expect {
		if command.ProcessState != nil && command.ProcessState.ExitCode() == code {
			return out, nil
		}
	}
	return nil, failure(err, said.String())
}

// Objects reads objects from one process of git. It is not safe for concurrent use. The caller must close it.
type Objects struct {
	process *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
	cancel  context.CancelFunc
	broken  error // why nothing more can be read
}

// ErrReader reports that [Objects] can read nothing more, because its process ended or said something else than expected.
var ErrReader = errors.New("git: the reader of objects ended")

// Objects starts to read objects.
func (s *Shadow) Objects(ctx context.Context) (*Objects, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &Objects{process: s.command(ctx, Call{Args: []string{"cat-file", "--batch"}}), cancel: cancel}
	var err error
	if o.input, err = o.process.StdinPipe(); err == nil {
		var out io.ReadCloser
		if out, err = o.process.StdoutPipe(); err == nil {
			o.output = bufio.NewReader(out)
			err = o.process.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return o, nil
}

// Read copies the content of a file that is stored under an id. Errors: that of the writer; [ErrReader]; the object is
// missing, damaged or no file. After all but ErrReader, other objects can be read.
func (o *Objects) Read(to io.Writer, object string) error {
	if o.broken != nil {
		return o.broken
	}
	head, err := o.ask(object)
	if err != nil {
		o.broken = fmt.Errorf("%w: %w", ErrReader, err)
		return o.broken
	}
	if strings.TrimSuffix(head, "\n") == object+" missing" {
		return fmt.Errorf("git: the object %s is missing", object)
	}
	var id, kind string
	var size int64
	if _, err := fmt.Sscan(head, &id, &kind, &size); err != nil || id != object {
		o.broken = fmt.Errorf("%w: it said %q for %s", ErrReader, head, object)
		return o.broken
	}
	if kind != "blob" {
		to = io.Discard
	}
	err = o.content(to, object, size)
	if kind != "blob" && o.broken == nil {
		return fmt.Errorf("git: the object %s is a %s", object, kind)
	}
	return err
}

// ask requests an object and returns the line above its content.
func (o *Objects) ask(object string) (head string, err error) {
	if _, err := io.WriteString(o.input, object+"\n"); err != nil {
		return "", err
	}
	return o.output.ReadString('\n')
}

// content copies the content of an object. It reads all of it, whatever the writer does, so that the next object follows.
func (o *Objects) content(to io.Writer, object string, size int64) error {
	sum := sha1.New() //nolint:gosec // git's
	_, _ = fmt.Fprintf(sum, "blob %d\x00", size)
	content := &io.LimitedReader{R: o.output, N: size}
	_, failed := io.Copy(to, io.TeeReader(content, sum))
	_, err := io.Copy(io.Discard, content)
	if err == nil && content.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		_, err = o.output.Discard(1)
	}
	switch {
	case err != nil:
		o.broken = fmt.Errorf("%w: %w", ErrReader, err)
		return o.broken
	case failed == nil && to != io.Discard && hex.EncodeToString(sum.Sum(nil)) != object:
		return fmt.Errorf("git: the object %s is damaged", object)
	}
	return failed
}

// Close ends the process.
func (o *Objects) Close() {
	_ = o.input.Close()
	o.cancel()
	_ = o.process.Wait() // it was killed, perhaps
}
