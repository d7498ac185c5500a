package ask

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// AddFlags declares the flags for mode and attachments.
func AddFlags(f *pflag.FlagSet) {
	f.String("mode", "", "how the agent works: interactive, plan or autopilot (default: interactive)")
	f.StringArray("attach", nil, "attach a file, a directory, an image or lines of a file: `PATH[:FIRST[-LAST]]`; may be given several times")
}

// ReadFlags reads the flags of [AddFlags]. Relative paths start at the
// working directory. It returns an error for an unknown mode, a file that
// cannot be read, and an invalid range of lines.
func (o *Options) ReadFlags(f *pflag.FlagSet) error {
	mode, _ := f.GetString("mode") // declared by AddFlags
	var err error
	if o.Mode, err = event.ParseMode(mode); err != nil {
		return fault.Errorf(fault.Invalid, "--mode: %w", err)
	}
	paths, _ := f.GetStringArray("attach")
	for _, text := range paths {
		a, err := attachment(text)
		if err != nil {
			return fault.Errorf(fault.Invalid, "--attach %s: %w", text, err)
		}
		o.Attachments = append(o.Attachments, a)
	}
	return nil
}

// attachment reads PATH[:FIRST[-LAST]]. If a file has the whole text as its name,
// that file is meant.
func attachment(text string) (a event.Attachment, err error) {
	path, lines := text, ""
	if i := strings.LastIndexByte(text, ':'); i > 0 && !exists(text) && strings.Trim(text[i+1:], "0123456789-") == "" {
		path, lines = text[:i], text[i+1:]
		if a.First, a.Last, err = lineRange(lines); err != nil {
			return a, err
		}
	}
	if media := imageType(path); media != "" {
		if lines != "" {
			return a, fault.Errorf(fault.Invalid, "an image has no lines")
		}
		b, err := os.ReadFile(path) //nolint:gosec // the user names it
		return event.Attachment{Data: b, Type: media, Name: filepath.Base(path)}, err
	}
	if a.Path, err = filepath.Abs(path); err != nil {
		return a, err
	}
	_, err = os.Stat(a.Path)
	return a, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lineRange reads FIRST or FIRST-LAST; last is 0 if it is missing, which
// means a single line.
func lineRange(text string) (first, last int, err error) {
	from, to, ranged := strings.Cut(text, "-")
	first, err = strconv.Atoi(from)
	if err == nil && ranged {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || ranged && last < first {
		return 0, 0, fault.Errorf(fault.Invalid, "%q is not a range of lines: use FIRST or FIRST-LAST, from 1", text)
	}
	return first, last, nil
}

// imageType returns the media type of an image, "" for other files.
func imageType(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	}
	return ""
}
