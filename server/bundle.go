package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// bundle is what a browser loads instead of the page's modules and style sheets. Each part is made on first use, because
// most portals that a program starts never serve the page.
type bundle struct {
	files  fs.FS
	styles []string // names, in the order of index.html
}

// stylesheet matches the address of a style sheet in index.html.
var stylesheet = regexp.MustCompile(`<link rel="stylesheet" href="([^"]+)">\s*`)

func newBundle(files fs.FS) bundle {
	page, _ := fs.ReadFile(files, "index.html")
	b := bundle{files: files}
	for _, found := range stylesheet.FindAllSubmatch(page, -1) {
		b.styles = append(b.styles, string(found[1]))
	}
	return b
}

// script returns a module, the entry of a page, with everything that it imports. If the modules cannot be bundled, it returns a module that imports
// them one by one, and the error.
func (b bundle) script(entry string) ([]byte, error) {
	out, err := b.build(entry, "")
	if err != nil {
		return []byte(`import "../` + entry + `";`), fmt.Errorf("bundling the modules of the page: %w", err)
	}
	return out, nil
}

// style returns all style sheets in order. If they cannot be minified, it returns them as they are, and the error.
func (b bundle) style() ([]byte, error) {
	var all strings.Builder
	for _, name := range b.styles {
		text, _ := fs.ReadFile(b.files, name) // a missing one is missing in the page, too
		all.Write(text)
	}
	out, err := b.build("all.css", all.String())
	if err != nil {
		return []byte(all.String()), fmt.Errorf("minifying the style sheets of the page: %w", err)
	}
	return out, nil
}

// build bundles and minifies an entry point. A text takes the place of a file.
func (b bundle) build(entry, text string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		Outdir: "/", Write: false, LogLevel: api.LogLevelSilent,
		Plugins: []api.Plugin{{Name: "embedded files", Setup: func(p api.PluginBuild) { b.read(p, entry, text) }}},
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(result.Errors[0].Text)
	}
	return result.OutputFiles[0].Contents, nil
}

// read makes esbuild read the embedded files.
func (b bundle) read(p api.PluginBuild, entry, text string) {
	const embedded = "embedded"
	p.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: path.Join(path.Dir(a.Importer), a.Path), Namespace: embedded}, nil
	})
	p.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: embedded}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		loader := api.LoaderJS
		if path.Ext(a.Path) == ".css" {
			loader = api.LoaderCSS
		}
		if a.Path == entry && text != "" {
			return api.OnLoadResult{Contents: &text, Loader: loader}, nil
		}
		data, err := fs.ReadFile(b.files, a.Path)
		contents := string(data)
		return api.OnLoadResult{Contents: &contents, Loader: loader}, err
	})
}
