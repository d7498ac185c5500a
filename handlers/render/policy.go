package render

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
)

// relation keeps the targets of links from learning about the portal.
const relation = "noopener noreferrer nofollow"

var (
	classes  = regexp.MustCompile(`^(?:` + class + `)(?: (?:` + class + `))*$`)
	language = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+#._-]{0,31}$`)
	number   = regexp.MustCompile(`^[0-9]{1,9}$`)
)

// class matches every class in the output.
const class = `plain|code|continued|diff|terminal|note|image|hl-[a-z]|diff-[a-z]{3,4}|term-(?:fg|bg)[ix]?[0-9]{1,3}`

var policy = sync.OnceValue(newPolicy) //nolint:gochecknoglobals // expensive to create, never changed

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowNoAttrs().OnElements("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code",
		"em", "strong", "del", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("class").Matching(classes).OnElements("p", "pre", "span", "a")
	p.AllowAttrs("data-language").Matching(language).OnElements("pre")
	p.AllowAttrs("data-old", "data-new").Matching(number).OnElements("span")
	p.AllowAttrs("start").Matching(number).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(?:left|right|center)$`)).OnElements("th", "td")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").Matching(regexp.MustCompile(`^$`)).OnElements("input")
	allowLinks(p)
	return p
}

func allowLinks(p *bluemonday.Policy) {
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^[a-z ]*$`)).OnElements("a")
	p.AllowAttrs("target").Matching(regexp.MustCompile(`^_blank$`)).OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
}

// safe applies the policy to HTML. Sanitizing decodes entities, so the result is cleaned
// again.
func safe(html string) string {
	return clean(policy().Sanitize(html))
}

// address returns the normalized URL of a link, unescaped. It rejects other URLs, also
// relative ones, which would lead into the page.
func address(text string) (string, bool) {
	if len(text) > maxURL || !isClean(text) || strings.ContainsAny(text, " \n\t\"<>\\`") {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	switch u.Scheme {
	case "http", "https":
		return u.String(), u.Host != ""
	case "mailto":
		return u.String(), u.Opaque != ""
	}
	return "", false
}
