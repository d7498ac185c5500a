package workspace

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Limits of [ReadFile].
const (
	MaxFile  = 32 << 20 // bytes of a file
	MaxLines = 5000     // lines of a window
	MaxLine  = 4000     // bytes of a line, before its credentials are masked

	maxWindow  = 1 << 20 // bytes of the lines of a window
	someLines  = 2000    // lines of a window by default
	maskedPart = 512     // bytes read beyond MaxLine, so that a credential at the end of it is recognized
	sniffed    = 8000    // bytes that are searched for a zero byte, as git does
)

// File is a window of a file.
type File struct {
	Path       string // relative to the directory, with slashes
	Size       int64  // bytes
	Modified   time.Time
	Binary     bool // it is no text that can be shown; everything below is empty
	Encoding   Encoding
	LineEnds   LineEnds
	Count      int  // lines of the whole file
	NoFinalEnd bool // the last line has no end
	From       int  // number of the first line in Lines, from 1
	Lines      []Line
}

// Line is a line of a [File].
type Line struct {
	Text string // valid UTF-8, without its end
	Cut  int    // bytes at its end that Text lacks
}

// Encoding is how the characters of a file are encoded.
type Encoding string

// The encodings. Bytes that are not UTF-8 are replaced by U+FFFD. A file in UTF-16 is binary.
const (
	UTF8            Encoding = "utf-8"
	UTF16           Encoding = "utf-16"
	UnknownEncoding Encoding = "unknown"
)

// LineEnds are the ends of all lines of a file; "" if it has none.
type LineEnds string

// The ends of lines.
const (
	LF         LineEnds = "lf"
	CRLF       LineEnds = "crlf"
	MixedLines LineEnds = "mixed"
)

// Window selects lines of a file.
type Window struct {
	From  int // number of the first line, from 1; 0 means 1
	Limit int // 0 means 2,000; at most [MaxLines]
	// Mask returns a line with its credentials masked. It is called for each line from the first one of the file to the last one of
	// the window, in order; nil: nothing is masked.
	Mask func(string) string
}

// ReadFile reads lines of a regular file in a directory. dirs are names of that directory; path is relative to it, or begins with
// one of them. A symbolic link is followed if it stays in the directory. Fewer lines than the limit are read if they are long.
//
// Errors: [fault.ErrDirectoryNotFound], kind [fault.NotFound] for a missing file, kind [fault.Denied] for one that the portal may not
// read, kind [fault.Invalid] for one outside of the directory, over [MaxFile], or that is not regular.
func ReadFile(dirs []string, path string, w Window) (f File, err error) {
	root, name, err := openRoot(dirs, path)
	if err != nil {
		return f, err
	}
	defer root.Close() //nolint:errcheck // opened for reading
	file, info, err := openRegular(root, name)
	if err != nil {
		return f, err
	}
	defer file.Close() //nolint:errcheck // opened for reading
	f = File{Path: filepath.ToSlash(name), Size: info.Size(), Modified: info.ModTime(), From: max(1, w.From)}
	if f.Size > MaxFile {
		return File{}, fault.Errorf(fault.Invalid, "%s has %d MB; files of up to %d MB can be shown", f.Path, f.Size>>20, MaxFile>>20)
	}
	w.Limit = min(MaxLines, cmp.Or(max(0, w.Limit), someLines))
	in := bufio.NewReaderSize(io.LimitReader(file, MaxFile), 64<<10) // it may grow meanwhile
	if f.sniff(in); f.Binary {
		return f, nil
	}
	return f, f.scan(in, w)
}

// FindFiles returns those of the paths that [ReadFile] can open, by their names and types alone.
func FindFiles(dirs []string, paths []string) (found []string) {
	for _, path := range paths {
		root, name, err := openRoot(dirs, path)
		if err != nil {
			continue
		}
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
			found = append(found, path)
		}
		_ = root.Close() // opened for reading
	}
	return found
}

// openRoot opens the directory and returns the path relative to it.
func openRoot(dirs []string, path string) (root *os.Root, name string, err error) {
	if name, err = within(dirs, path); err != nil {
		return nil, "", err
	}
	if root, err = os.OpenRoot(dirs[0]); err != nil {
		return nil, "", fault.Errorf(fault.Invalid, "%w: %s", fault.ErrDirectoryNotFound, dirs[0])
	}
	return root, name, nil
}

// within returns a path relative to a directory with these names. [os.Root] then keeps links from leading out of it.
func within(dirs []string, path string) (string, error) {
	switch {
	case path == "":
		return "", fault.Errorf(fault.Invalid, "the path is missing")
	case strings.ContainsRune(path, 0):
		return "", fault.Errorf(fault.Invalid, "a path cannot contain a zero byte")
	case !filepath.IsAbs(path):
		if name := filepath.Clean(filepath.FromSlash(path)); filepath.IsLocal(name) {
			return name, nil
		}
	default:
		for _, dir := range dirs {
			if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
				return name, nil
			}
		}
	}
	return "", fault.Errorf(fault.Invalid, "%q is outside of the session's directory", path)
}

// openRegular opens a regular file. Nothing else is opened: a named pipe would block, a device may react.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, openError(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular(name, info)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, nil, openError(name, err)
	}
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close() // opened for reading
		return nil, nil, fault.Errorf(fault.Invalid, "%q changed at this moment: try again", name)
	}
	return file, info, nil
}

func notRegular(name string, info fs.FileInfo) error {
	if info.IsDir() {
		return fault.Errorf(fault.Invalid, "%q is a directory", name)
	}
	return fault.Errorf(fault.Invalid, "%q is not a regular file, so it has no content to show", name)
}

func openError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fault.Errorf(fault.NotFound, "%q does not exist", name)
	case errors.Is(err, fs.ErrPermission):
		return fault.Errorf(fault.Denied, "the portal is not permitted to read %q", name)
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return fault.Errorf(fault.Invalid, "%q cannot be opened in the session's directory: %w", name, err)
}

// sniff recognizes binary files and the marks of encodings.
func (f *File) sniff(in *bufio.Reader) {
	begin, _ := in.Peek(sniffed) // less at the end of the file
	f.Encoding = UTF8
	switch {
	case bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		f.Binary, f.Encoding = true, UTF16
	case bytes.IndexByte(begin, 0) >= 0:
		f.Binary, f.Encoding = true, ""
	case bytes.HasPrefix(begin, []byte("\ufeff")):
		_, _ = in.Discard(len("\ufeff")) // was peeked
	}
}

// scan counts all lines and keeps those of a window.
func (f *File) scan(in *bufio.Reader, w Window) error {
	size, full := 0, false
	for {
		text, length, end, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fault.Errorf(fault.Invalid, "reading %q: %w", f.Path, err)
		}
		if length == 0 && end == "" {
			return nil
		}
		f.Count++
		f.addEnd(end)
		f.NoFinalEnd = end == ""
		if !utf8.Valid(text) {
			f.Encoding = UnknownEncoding
		}
		if full = full || len(f.Lines) == w.Limit || size > maxWindow; full {
			continue
		}
		line := newLine(text, length, w.Mask)
		if f.Count >= f.From {
			f.Lines = append(f.Lines, line)
			size += len(line.Text)
		}
	}
}

// addEnd notes the end of a line.
func (f *File) addEnd(end string) {
	kind := map[string]LineEnds{"\n": LF, "\r\n": CRLF}[end]
	switch {
	case kind == "" || kind == f.LineEnds: // the last line may have none
	case f.LineEnds == "":
		f.LineEnds = kind
	default:
		f.LineEnds = MixedLines
	}
}

// readLine returns the begin of a line in whole characters, the length of the line in bytes, and its end. It returns no length and
// no end at the end of the file.
func readLine(in *bufio.Reader) (text []byte, length int, end string, err error) {
	var last byte // before the newline
	for {
		part, err := in.ReadSlice('\n')
		if n := len(part); n > 0 && part[n-1] == '\n' {
			part, end = part[:n-1], "\n"
		}
		text = append(text, part[:min(len(part), MaxLine+maskedPart-len(text))]...)
		length += len(part)
		if len(part) > 0 {
			last = part[len(part)-1]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if end != "" && last == '\r' {
			end, length = "\r\n", length-1
			text = text[:min(len(text), length)]
		}
		if length > len(text) {
			text = wholeCharacters(text)
		}
		return text, length, end, err
	}
}

// wholeCharacters removes an incomplete character at the end.
func wholeCharacters(text []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if from := len(text) - back; utf8.RuneStart(text[from]) {
			if !utf8.FullRune(text[from:]) {
				return text[:from]
			}
			break
		}
	}
	return text
}

func newLine(text []byte, length int, mask func(string) string) Line {
	shown := strings.ToValidUTF8(string(text), "\ufffd")
	if mask != nil {
		shown = mask(shown)
	}
	if length <= MaxLine {
		return Line{Text: shown}
	}
	most := MaxLine
	if length > len(text) { // the end of the text may be a part of a credential, which was not recognized
		most = min(most, max(0, len(shown)-maskedPart))
	}
	return Line{Text: string(wholeCharacters([]byte(shown[:min(len(shown), most)]))), Cut: length - MaxLine}
}
