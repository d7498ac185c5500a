package workspace

import (
	"io"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// ReadWhole reads a regular file of at most limit bytes as it is, and when it was modified. The directory, the path and the errors are those
// of [ReadFile].
func ReadWhole(dirs []string, path string, limit int64) (content []byte, modified time.Time, err error) {
	root, name, err := openRoot(dirs, path)
	if err != nil {
		return nil, modified, err
	}
	defer root.Close() //nolint:errcheck // opened for reading
	file, info, err := openRegular(root, name)
	if err != nil {
		return nil, modified, err
	}
	defer file.Close() //nolint:errcheck // opened for reading
	content, err = io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, modified, openError(name, err)
	case int64(len(content)) > limit:
		return nil, modified, fault.Errorf(fault.Invalid, "%s has more than %d bytes", name, limit)
	}
	return content, info.ModTime(), nil
}
