package render

import (
	"html"
	"strconv"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// nodes renders the nodes that differ from goldmark's defaults.
type nodes struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (n nodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, n.heading)
	reg.Register(ast.KindCodeBlock, n.code)
	reg.Register(ast.KindFencedCodeBlock, n.code)
	reg.Register(ast.KindLink, n.link)
	reg.Register(ast.KindImage, n.image)
	reg.Register(ast.KindAutoLink, n.autoLink)
}

// heading shifts headings by two levels: h1 and h2 belong to the page.
func (nodes) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	level := 0
	if h, ok := node.(*ast.Heading); ok {
		level = min(h.Level+2, 6)
	}
	if entering {
		_, _ = w.WriteString("<h" + strconv.Itoa(level) + ">")
	} else {
		_, _ = w.WriteString("</h" + strconv.Itoa(level) + ">\n")
	}
	return ast.WalkContinue, nil
}

func (nodes) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	named := ""
	if fenced, ok := node.(*ast.FencedCodeBlock); ok {
		named = string(fenced.Language(source))
	}
	_, _ = w.WriteString(codeBlock(string(node.Lines().Value(source)), named, "code", findLexer(named)))
	return ast.WalkSkipChildren, nil
}

func (nodes) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := node.(*ast.Link)
	if !ok {
		return ast.WalkContinue, nil
	}
	href, ok := address(string(util.URLEscape(link.Destination, true)))
	switch {
	case !ok || isInLink(node):
	case entering:
		openLink(w, href, "")
	default:
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// image renders a link: loading an image would tell its server who reads what and when.
func (nodes) image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	image, ok := node.(*ast.Image)
	if !ok {
		return ast.WalkContinue, nil
	}
	href, ok := address(string(util.URLEscape(image.Destination, true)))
	if !ok || isInLink(node) {
		return ast.WalkContinue, nil
	}
	if !entering {
		_, _ = w.WriteString("</a>")
		return ast.WalkContinue, nil
	}
	openLink(w, href, ` class="image"`)
	if !node.HasChildren() {
		_, _ = w.WriteString(html.EscapeString(href))
	}
	return ast.WalkContinue, nil
}

func (nodes) autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := node.(*ast.AutoLink)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	to := string(util.URLEscape(link.URL(source), false))
	if link.AutoLinkType == ast.AutoLinkEmail {
		to = "mailto:" + to
	}
	label := html.EscapeString(string(link.Label(source)))
	if href, ok := address(to); ok && !isInLink(node) {
		openLink(w, href, "")
		label += "</a>"
	}
	_, _ = w.WriteString(label)
	return ast.WalkContinue, nil
}

func openLink(w util.BufWriter, href, attributes string) {
	_, _ = w.WriteString(`<a href="` + html.EscapeString(href) + `" rel="` + relation + `" target="_blank"` + attributes + ">")
}

// isInLink reports whether a node is part of a link, where HTML allows no other link.
func isInLink(node ast.Node) bool {
	for p := node.Parent(); p != nil && p.Type() == ast.TypeInline; p = p.Parent() {
		if p.Kind() == ast.KindLink || p.Kind() == ast.KindImage {
			return true
		}
	}
	return false
}
