package ask_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/ask"
)

// readFlags reads a command line.
func readFlags(args ...string) (o ask.Options, err error) {
	f := pflag.NewFlagSet("ask", pflag.ContinueOnError)
	ask.AddFlags(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	return o, o.ReadFlags(f)
}

func TestAttachFlagIsRead(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"a.go": "package a\n", "odd:3": "x", "dot.PNG": "\x89PNG", "plain": "x"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name string
		args []string
		want []event.Attachment
		err  string // part
	}{
		{"none", nil, nil, ""},
		{"a file, in the shell's directory", []string{"--attach", "a.go"}, []event.Attachment{{Path: file("a.go")}}, ""},
		{"several, also with commas", []string{"--attach", "a.go", "--attach", "plain"}, []event.Attachment{{Path: file("a.go")}, {Path: file("plain")}}, ""},
		{"a directory", []string{"--attach", "."}, []event.Attachment{{Path: dir}}, ""},
		{"one line", []string{"--attach", "a.go:3"}, []event.Attachment{{Path: file("a.go"), First: 3}}, ""},
		{"lines", []string{"--attach", file("a.go") + ":3-14"}, []event.Attachment{{Path: file("a.go"), First: 3, Last: 14}}, ""},
		{"a file whose name looks like lines", []string{"--attach", "odd:3"}, []event.Attachment{{Path: file("odd:3")}}, ""},
		{"lines of a file whose name looks like lines", []string{"--attach", "odd:3:1"}, []event.Attachment{{Path: file("odd:3"), First: 1}}, ""},
		{"an image is sent itself", []string{"--attach", "dot.PNG"}, []event.Attachment{{Data: []byte("\x89PNG"), Type: "image/png", Name: "dot.PNG"}}, ""},
		{"an image has no lines", []string{"--attach", "dot.PNG:1"}, nil, "no lines"},
		{"a missing file", []string{"--attach", "none.go"}, nil, "none.go: "},
		{"a missing image", []string{"--attach", "none.png"}, nil, "none.png: "},
		{"a reversed range", []string{"--attach", "a.go:3-2"}, nil, "not a range of lines"},
		{"line 0", []string{"--attach", "a.go:0"}, nil, "not a range of lines"},
		{"half a range", []string{"--attach", "a.go:1-"}, nil, "not a range of lines"},
		{"an empty range", []string{"--attach", "a.go:"}, nil, "not a range of lines"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := readFlags(c.args...)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, o.Attachments)
			assert.Equal(t, event.ModeInteractive, o.Mode)
		})
	}
}

func TestModeFlagIsRead(t *testing.T) {
	o, err := readFlags("--mode", "Plan")
	require.NoError(t, err)
	assert.Equal(t, event.ModePlan, o.Mode)
	_, err = readFlags("--mode", "yolo")
	require.ErrorContains(t, err, "--mode: ")
}

func FuzzAttach(f *testing.F) {
	f.Chdir(f.TempDir())
	require.NoError(f, os.WriteFile("a", nil, 0o600))
	for _, seed := range []string{"a", "a:1", "a:1-2", "a:99999999999999999999", "a:-", ":1", "a:--1", "\x00", "a:1:2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := readFlags("--attach=" + text)
		if err != nil {
			return
		}
		if len(o.Attachments) == 0 {
			assert.Empty(t, text)
			return
		}
		a := o.Attachments[0]
		assert.True(t, a.Last == 0 || a.First >= 1 && a.Last >= a.First, "%+v", a)
		assert.True(t, filepath.IsAbs(a.Path) || a.Data != nil)
	})
}
