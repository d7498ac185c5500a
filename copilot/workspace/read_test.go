package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/workspace"
)

// put writes a file and returns its directory.
func put(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	return dir
}

func read(t *testing.T, dir, path string, w workspace.Window) workspace.File {
	t.Helper()
	f, err := workspace.ReadFile([]string{dir}, path, w)
	require.NoError(t, err)
	return f
}

func texts(f workspace.File) []string {
	all := []string{}
	for _, l := range f.Lines {
		all = append(all, l.Text)
	}
	return all
}

func TestFileIsReadByItsName(t *testing.T) {
	dir := tree(t, "deep/a.txt", "b.txt")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	require.NoError(t, os.Symlink("../b.txt", filepath.Join(dir, "deep", "in")))
	require.NoError(t, os.Symlink("deep", filepath.Join(dir, "also")))
	for path, want := range map[string]string{
		"b.txt":                             "b.txt",
		"./deep/../b.txt":                   "b.txt",
		"deep/a.txt":                        "deep/a.txt",
		"deep/in":                           "deep/in",
		"also/a.txt":                        "also/a.txt",
		filepath.Join(dir, "deep", "a.txt"): "deep/a.txt",
		filepath.Join(link, "deep/a.txt"):   "deep/a.txt",
	} {
		f, err := workspace.ReadFile([]string{link, dir}, path, workspace.Window{})
		require.NoError(t, err, path)
		assert.Equal(t, want, f.Path)
		assert.Equal(t, []string{"x"}, texts(f))
		assert.Equal(t, []string{path}, workspace.FindFiles([]string{link, dir}, []string{path, "gone"}), path)
	}
}

func TestOnlyRegularFilesOfTheDirectoryAreRead(t *testing.T) {
	outside := tree(t, "secret.txt", "below/secret.txt")
	dir := tree(t, "a.txt", "sub/b.txt")
	for name, target := range map[string]string{
		"absolute": filepath.Join(outside, "secret.txt"), "relative": "../" + filepath.Base(outside) + "/secret.txt",
		"directory": outside, "loop": "loop", "twice": "relative", "device": "/dev/zero", "sub/up": "../../..",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "closed"), nil, 0))
	for path, want := range map[string]fault.Kind{
		"":                                     fault.Invalid,
		".":                                    fault.Invalid,
		"sub":                                  fault.Invalid,
		"..":                                   fault.Invalid,
		"../x":                                 fault.Invalid,
		"sub/../../x":                          fault.Invalid,
		"/etc/hosts":                           fault.Invalid,
		dir:                                    fault.Invalid,
		dir + "x/a.txt":                        fault.Invalid,
		filepath.Join(outside, "secret.txt"):   fault.Invalid,
		"a\x00.txt":                            fault.Invalid,
		"absolute":                             fault.Invalid,
		"relative":                             fault.Invalid,
		"twice":                                fault.Invalid,
		"directory/secret.txt":                 fault.Invalid,
		"directory/below/secret.txt":           fault.Invalid,
		"sub/up/etc/hosts":                     fault.Invalid,
		"loop":                                 fault.Invalid,
		"device":                               fault.Invalid,
		"gone":                                 fault.NotFound,
		"gone/a.txt":                           fault.NotFound,
		"a.txt/b":                              fault.NotFound,
		"<img src=x onerror=alert(1)>\u202e":   fault.NotFound,
		strings.Repeat("long", 2000) + ".html": fault.Invalid,
	} {
		_, err := workspace.ReadFile([]string{dir}, path, workspace.Window{})
		require.Error(t, err, path)
		assert.Equal(t, want, fault.KindOf(err), "%s: %v", path, err)
		assert.Empty(t, workspace.FindFiles([]string{dir}, []string{path}), path)
	}
	if os.Getuid() != 0 {
		_, err := workspace.ReadFile([]string{dir}, "closed", workspace.Window{})
		assert.Equal(t, fault.Denied, fault.KindOf(err))
	}
	_, err := workspace.ReadFile([]string{filepath.Join(dir, "gone")}, "a", workspace.Window{})
	require.ErrorIs(t, err, fault.ErrDirectoryNotFound)
}

func TestWindowOfALargeFileIsRead(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	dir := put(t, "large.txt", b.String())
	f := read(t, dir, "large.txt", workspace.Window{})
	assert.Equal(t, []any{100_000, 1, 2000}, []any{f.Count, f.From, len(f.Lines)})
	f = read(t, dir, "large.txt", workspace.Window{From: 99_999, Limit: 10})
	assert.Equal(t, []string{"line 99999", "line 100000"}, texts(f))
	assert.Equal(t, 99_999, f.From)
	f = read(t, dir, "large.txt", workspace.Window{From: 100_001})
	assert.Empty(t, f.Lines)
	assert.Equal(t, 100_000, f.Count)
	assert.Len(t, read(t, dir, "large.txt", workspace.Window{From: -1, Limit: 1 << 40}).Lines, workspace.MaxLines)

	require.NoError(t, os.Truncate(filepath.Join(dir, "large.txt"), workspace.MaxFile+1))
	_, err := workspace.ReadFile([]string{dir}, "large.txt", workspace.Window{})
	assert.Equal(t, fault.Invalid, fault.KindOf(err))
	assert.ErrorContains(t, err, "files of up to 32 MB can be shown")
}

func TestWindowIsLimitedInBytes(t *testing.T) {
	dir := put(t, "wide.txt", strings.Repeat(strings.Repeat("w", 3999)+"\n", 1000))
	f := read(t, dir, "wide.txt", workspace.Window{})
	assert.Equal(t, 1000, f.Count)
	assert.Less(t, len(f.Lines), 270)
	next := read(t, dir, "wide.txt", workspace.Window{From: 1 + len(f.Lines)})
	assert.NotEmpty(t, next.Lines)
}

func TestLongLineIsCut(t *testing.T) {
	dir := put(t, "long.js", "é"+strings.Repeat("é", 500_000)+"\r\nnext\r\n"+strings.Repeat("a", workspace.MaxLine)+"\r\n")
	f := read(t, dir, "long.js", workspace.Window{})
	require.Len(t, f.Lines, 3)
	assert.Equal(t, strings.Repeat("é", workspace.MaxLine/2), f.Lines[0].Text)
	assert.Equal(t, 1_000_002-workspace.MaxLine, f.Lines[0].Cut)
	assert.Equal(t, []workspace.Line{{Text: "next"}, {Text: strings.Repeat("a", workspace.MaxLine)}}, f.Lines[1:])
	assert.Equal(t, workspace.UTF8, f.Encoding)
}

func TestEncodingAndLineEndsAreRecognized(t *testing.T) {
	for name, tc := range map[string]struct {
		text     string
		lines    []string
		encoding workspace.Encoding
		ends     workspace.LineEnds
	}{
		"empty":                {"", []string{}, workspace.UTF8, ""},
		"one line without end": {"a", []string{"a"}, workspace.UTF8, ""},
		"empty lines":          {"\n\n", []string{"", ""}, workspace.UTF8, workspace.LF},
		"crlf":                 {"a\r\nb\r\n", []string{"a", "b"}, workspace.UTF8, workspace.CRLF},
		"mixed":                {"a\r\nb\nc", []string{"a", "b", "c"}, workspace.UTF8, workspace.MixedLines},
		"carriage return":      {"a\rb\n\r\n", []string{"a\rb", ""}, workspace.UTF8, workspace.MixedLines},
		"mark":                 {"\ufeffa\n", []string{"a"}, workspace.UTF8, workspace.LF},
		"latin 1":              {"caf\xe9\n", []string{"caf\ufffd"}, workspace.UnknownEncoding, workspace.LF},
		"escapes":              {"\x1b[31mred\n", []string{"\x1b[31mred"}, workspace.UTF8, workspace.LF},
	} {
		f := read(t, put(t, "f", tc.text), "f", workspace.Window{})
		assert.Equal(t, tc.lines, texts(f), name)
		assert.Equal(t, tc.encoding, f.Encoding, name)
		assert.Equal(t, tc.ends, f.LineEnds, name)
		assert.Equal(t, tc.text != "" && !strings.HasSuffix(tc.text, "\n"), f.NoFinalEnd, name)
		assert.Equal(t, len(tc.lines), f.Count, name)
		assert.False(t, f.Binary, name)
	}
}

func TestBinaryFileHasNoLines(t *testing.T) {
	for text, encoding := range map[string]workspace.Encoding{"\x89PNG\r\n\x00\x01": "", "\xff\xfea\x00": workspace.UTF16, "\xfe\xff\x00a": workspace.UTF16} {
		f := read(t, put(t, "f", text), "f", workspace.Window{})
		assert.True(t, f.Binary)
		assert.Equal(t, encoding, f.Encoding)
		assert.Empty(t, f.Lines)
		assert.EqualValues(t, len(text), f.Size)
	}
}

func TestAllLinesBeforeTheWindowAreMaskedInOrder(t *testing.T) {
	var seen []string
	f := read(t, put(t, "f", "a\nb\nc\nd\n"), "f", workspace.Window{From: 2, Limit: 2, Mask: func(line string) string {
		seen = append(seen, line)
		return strings.ToUpper(line)
	}})
	assert.Equal(t, []string{"B", "C"}, texts(f))
	assert.Equal(t, []string{"a", "b", "c"}, seen)
}
