package dashboard

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// tagData is what a program that shows a link to a page says about it, by the Open Graph protocol.
type tagData struct{ Title, About, URL, Image, Alt string }

var tagTemplate = template.Must(template.New("tags").Parse(`<meta property="og:type" content="website">
<meta property="og:site_name" content="Assay">
<meta property="og:title" content="{{.Title}} · Assay">
<meta property="og:description" content="{{.About}}">
<meta property="og:url" content="{{.URL}}">
<meta property="og:image" content="{{.Image}}">
<meta property="og:image:alt" content="{{.Alt}}">
<meta name="twitter:card" content="summary_large_image">
`))

// tags describe a page for programs that show a link to it. A link to a view of the page shows the view.
func (p *page) tags(r *http.Request, origin string) []byte {
	name := nameIn(p, r)
	named := func(text string) string { return strings.ReplaceAll(text, "{name}", name) }
	data := tagData{
		Title: named(p.title), About: named(p.about), URL: origin + r.URL.RequestURI(),
		Image: origin + "/embed/picture", Alt: "Assay",
	}
	if name != "" {
		data.Image += "/" + url.PathEscape(name)
		data.Alt = name + " · Assay"
	}
	var tags bytes.Buffer
	_ = tagTemplate.Execute(&tags, data) // a bytes.Buffer returns no error, and the template is a constant
	return tags.Bytes()
}

// nameIn is the name in the path of a page; empty if it has none.
func nameIn(p *page, r *http.Request) string {
	before, isNamed := strings.CutSuffix(p.path, "{name}")
	if !isNamed {
		return ""
	}
	name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), before))
	if err != nil {
		return ""
	}
	return name
}

var endOfHead = []byte("</head>")

// with is the file with more in its head. It is small and different for each address, so it is not compressed.
func (f *file) with(tags []byte) *file {
	at := bytes.Index(f.content, endOfHead)
	if at < 0 {
		return f
	}
	content := make([]byte, 0, len(f.content)+len(tags))
	content = append(append(append(content, f.content[:at]...), tags...), f.content[at:]...)
	made := newFile("index.html", content, f.cacheControl)
	made.compressed = func() []byte { return nil }
	return made
}
