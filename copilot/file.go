package copilot

import (
	"github.com/copilot-portal/portal/copilot/changes"
	"github.com/copilot-portal/portal/copilot/workspace"
)

// ReadFile returns lines of a file in the session's directory: limit lines from a number on, from 1; 0 stands for the first line and for 2,000
// lines. Credentials are masked, as in the record. path is relative to the directory, or absolute. Errors: those of [workspace.ReadFile].
func (s *Session) ReadFile(path string, from, limit int) (workspace.File, error) {
	var m changes.LineMasker
	return workspace.ReadFile(s.directoryNames(), path, workspace.Window{From: from, Limit: limit, Mask: m.Mask})
}

// FindFiles returns those of the paths that [Session.ReadFile] can open.
func (s *Session) FindFiles(paths []string) []string {
	return workspace.FindFiles(s.directoryNames(), paths)
}

// directoryNames returns the names with which a path can begin: agents report resolved ones.
func (s *Session) directoryNames() []string { return []string{s.directory, s.canonical} }
