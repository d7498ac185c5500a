package checkpoint

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/copilot-portal/portal/copilot/atomicfile"
	"github.com/copilot-portal/portal/copilot/git"
)

// Permissions, which git does not store, are in a map by path, without the usual ones: those that a new file gets by itself or, once many
// files have others, those that most files have. These are in the map, too, under keys that are no paths.
const (
	plainFiles      = ""
	executableFiles = "/"
)

// manyPerms is how many files may have unusual permissions before those that most files have become the usual ones.
const manyPerms = 100

// maxPerms is the maximum number of files whose permissions are stored.
const maxPerms = 10_000

func kindOf(perm fs.FileMode) (key string) {
	if perm&0o100 != 0 {
		return executableFiles
	}
	return plainFiles
}

// isUsual reports whether the permissions of a file are not stored.
func isUsual(perms map[string]fs.FileMode, perm fs.FileMode) bool {
	if usual := perms[kindOf(perm)]; usual != 0 {
		return perm == usual
	}
	return perm == 0o644 || perm == 0o755 || perm == 0o664 || perm == 0o775
}

// permOf returns the permissions that a file had; 0: those that a new file gets.
func permOf(perms map[string]fs.FileMode, p string, e Entry) fs.FileMode {
	if perm, ok := perms[p]; ok {
		return perm
	}
	if e.Mode == "100755" {
		return perms[executableFiles]
	}
	return perms[plainFiles]
}

// hasMany reports whether a map should be replaced by [use.commonPerms].
func hasMany(perms map[string]fs.FileMode) bool {
	return len(perms) > manyPerms && perms[plainFiles] == 0 && perms[executableFiles] == 0
}

// commonPerms returns the permissions of the files of an index and others, so that those that most of them have are the usual ones.
func (u *use) commonPerms(ctx context.Context, index string, others []string) (map[string]fs.FileMode, error) {
	out, err := u.call(ctx, git.Call{Index: index, Args: []string{"ls-files", "-z", "--", "."}})
	if err != nil {
		return nil, err
	}
	perms, count := map[string]fs.FileMode{}, make(map[fs.FileMode]int)
	for _, p := range append(strings.Split(out, "\x00"), others...) {
		info, err := os.Lstat(filepath.Join(u.directory, filepath.FromSlash(p)))
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() == 0 || perms[p] != 0 {
			continue
		}
		perms[p] = info.Mode().Perm()
		count[perms[p]]++
	}
	usual := map[string]fs.FileMode{}
	for perm, n := range count {
		if most := usual[kindOf(perm)]; n > count[most] || n == count[most] && perm < most {
			usual[kindOf(perm)] = perm
		}
	}
	left := maxPerms
	maps.DeleteFunc(perms, func(_ string, perm fs.FileMode) bool {
		if isUsual(usual, perm) {
			return true
		}
		left--
		return left < 0
	})
	maps.Copy(perms, usual)
	return perms, nil
}

func (u *use) readPerms() map[string]fs.FileMode {
	perms := map[string]fs.FileMode{}
	if data, err := os.ReadFile(u.path(permsFile)); err == nil {
		_ = json.Unmarshal(data, &perms)
	}
	return permsWithPaths(perms, decodePath)
}

func (u *use) writePerms(perms map[string]fs.FileMode) error {
	data, err := json.Marshal(permsWithPaths(perms, encodePath))
	if err != nil {
		return err
	}
	return atomicfile.Replace(u.path(permsFile), data)
}
