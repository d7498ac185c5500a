// Package atomicfile replaces files.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace writes a file that only this user may read, atomically and durably: readers see the old content or the new one, also after a
// crash. Its directory must exist. A crash can leave a file beside it whose name begins with "new-".
func Replace(name string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(name), "new-")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // the first error counts
	}
	return err
}
