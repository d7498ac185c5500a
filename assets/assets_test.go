package assets_test

import (
	"io/fs"
	"path"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/copilot-portal/portal/assets"
)

func TestPageIsComplete(t *testing.T) {
	t.Parallel()
	// Every file that the page or a module refers to exists.
	reference := regexp.MustCompile(`(?:src|href|from|import) ?=?"((?:\.{1,2}/)*[\w/-]+\.(?:js|css|svg))"`)
	err := fs.WalkDir(assets.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(assets.FS(), name)
		for _, match := range reference.FindAllStringSubmatch(string(text), -1) {
			if _, err := fs.Stat(assets.FS(), path.Join(path.Dir(name), match[1])); err != nil {
				t.Errorf("%s names %s: %v", name, match[1], err)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := fstest.TestFS(assets.FS(), "index.html", "app.js", "favicon.svg", "styles/base.css"); err != nil {
		t.Error(err)
	}
}

func TestPageHasNoInlineCode(t *testing.T) {
	t.Parallel()
	// The Content-Security-Policy forbids it.
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]|javascript:`)
	text, err := fs.ReadFile(assets.FS(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	if found := inline.Find(text); found != nil {
		t.Errorf("index.html has %q", found)
	}
}

func TestDevelopmentFilesAreNotServed(t *testing.T) {
	t.Parallel()
	served := regexp.MustCompile(`^((index|offline|link|shared)\.html|manifest\.webmanifest|icons/[a-z]+-[0-9]+\.png|favicon(-waiting)?\.svg|((views|blocks)/)?[a-z-]+\.js|styles/[a-z]+\.css)$`)
	err := fs.WalkDir(assets.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !served.MatchString(name) {
			t.Errorf("%s is served", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
