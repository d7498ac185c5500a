package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/copilot-portal/portal/assets"
)

// site serves the files of the web site: /x is assets/x, and / is index.html. It neither lists nor redirects.
// All files are also below a directory that is named after a hash of their contents, where browsers may cache
// them for ever. index.html refers to those, so that reopening the page requests nothing else.
type site struct {
	version string // name of that directory
	files   map[string]*file
}

// The bundle lies beside the directories of the modules, because modules name other files relative to themselves.
const (
	bundleScript = "bundle/page.js"
	bundleLinked = "bundle/shared.js" // of the page of a link, which also uses the styles of the page
	bundleStyle  = "bundle/page.css"
)

// entryPage is a page with its entry module and the bundle of that.
type entryPage struct{ name, module, bundle string }

func entryPages() []entryPage {
	return []entryPage{{"index.html", "app.js", bundleScript}, {sharedPage, "shared.js", bundleLinked}}
}

// newSite returns the site. With single, the page loads its modules and style sheets one by one, for debugging.
func newSite(files fs.FS, single bool, log *slog.Logger) site {
	frame := newFrame()
	vendored := assets.Vendored()
	s := site{version: versionOf(files, frame, vendored), files: map[string]*file{frame.name: frame}}
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error { // cannot fail: the files are part of the program
		if err == nil && !d.IsDir() {
			data, _ := fs.ReadFile(files, name)
			s.files[name] = newFile(name, func() []byte { return data })
		}
		return nil
	})
	for name, data := range vendored {
		s.files[name] = newFile(name, func() []byte { return data })
	}
	index := s.bundled
	if single {
		index = s.modules
	} else {
		b := newBundle(files)
		for _, p := range entryPages() {
			s.files[p.bundle] = newFile(p.bundle, logged(func() ([]byte, error) { return b.script(p.module) }, log))
		}
		s.files[bundleStyle] = newFile(bundleStyle, logged(b.style, log))
	}
	for _, p := range entryPages() {
		page := index(files, p)
		s.files[p.name] = newFile(p.name, func() []byte { return page })
	}
	return s
}

// logged returns a function that calls build once and logs its error.
func logged(build func() ([]byte, error), log *slog.Logger) func() []byte {
	return sync.OnceValue(func() []byte {
		data, err := build()
		if err != nil {
			log.Error("the page loads slowly", "err", err)
		}
		return data
	})
}

// versionOf returns a hash of all files and of the frame's headers, which browsers cache with it.
func versionOf(files fs.FS, frame *file, vendored map[string][]byte) string {
	sum := sha256.New()
	sum.Write(frame.content())
	_, _ = fmt.Fprintln(sum, frame.header)
	for _, name := range slices.Sorted(maps.Keys(vendored)) {
		sum.Write(vendored[name])
	}
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error { // cannot fail: the files are part of the program
		if err == nil && !d.IsDir() {
			data, _ := fs.ReadFile(files, name)
			_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(data))
			sum.Write(data)
		}
		return nil
	})
	return "v-" + hex.EncodeToString(sum.Sum(nil)[:8])
}

const (
	moduleScript = `<script type="module" src="`
	themeScript  = `<script src="` // it runs before the page is painted
)

// bundled returns a page with the cacheable addresses of the bundle.
func (s site) bundled(files fs.FS, p entryPage) []byte {
	page, _ := fs.ReadFile(files, p.name)
	style := fmt.Appendf(nil, "<link rel=\"stylesheet\" href=\"%s/%s\">\n  ", s.version, bundleStyle)
	first := stylesheet.FindIndex(page)
	if first == nil {
		return page
	}
	rest := stylesheet.ReplaceAll(page[first[0]:], nil)
	rest = bytes.Replace(rest, []byte(moduleScript+p.module), []byte(moduleScript+s.version+"/"+p.bundle), 1)
	rest = bytes.Replace(rest, []byte(themeScript), []byte(themeScript+s.version+"/"), 1)
	return bytes.Join([][]byte{page[:first[0]], style, rest}, nil)
}

// modules returns a page with the cacheable addresses and with a preload of every module, because a browser
// would otherwise discover modules one after another.
func (s site) modules(files fs.FS, p entryPage) []byte {
	page, _ := fs.ReadFile(files, p.name)
	var modules strings.Builder
	_ = fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, _ error) error {
		if path.Ext(name) == ".js" && name != "sw.js" && name != "offline.js" && name != "theme.js" && name != linkScript { // which are no modules of the page
			fmt.Fprintf(&modules, "<link rel=\"modulepreload\" href=\"%s/%s\">\n  ", s.version, name)
		}
		return nil
	})
	text := strings.ReplaceAll(string(page), `href="styles/`, `href="`+s.version+`/styles/`)
	text = strings.Replace(text, themeScript, themeScript+s.version+"/", 1)
	return []byte(strings.Replace(text, moduleScript, modules.String()+moduleScript+s.version+"/", 1))
}

// find returns the file at a path, which may not be clean. lasting means that the content at this address never changes.
func (s site) find(path string) (found *file, lasting bool) {
	name := strings.TrimPrefix(path, "/")
	if name == "" {
		name = "index.html"
	}
	name, lasting = strings.CutPrefix(name, s.version+"/")
	if lasting && (name == "index.html" || name == sharedPage) { // its addresses are relative to the root
		return nil, false
	}
	return s.files[name], lasting
}
