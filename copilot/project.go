package copilot

import "github.com/copilot-portal/portal/copilot/git"

// ProjectOf returns the directory or the nearest one above it that contains .git; otherwise the directory. It runs nothing.
func ProjectOf(directory string) string {
	path, _ := git.Project(directory)
	return path
}
