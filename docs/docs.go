// Package docs holds the documents of this folder, for the program to serve: as they are, and as two texts for language
// models, llms.txt, which lists them, and llms-full.txt, which has those that explain how to use a server.
//
// README.md of this folder is the list: its table says what each document is for. A document that is not in it fails
// the tests.
package docs

import (
	"embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed *.md
var files embed.FS

// source is where the files are that documents link to and that are not served.
const source = "https://github.com/assaydata/assay/blob/main/"

// Path is where a server serves the documents.
const Path = "/docs/"

// Page is a document.
type Page struct {
	Name  string // of its file
	Title string
	About string // what the reader wants who should read it
	Text  string // in Markdown; its links work where the documents are served
}

// Pages are the documents, in the order of README.md.
var Pages = sync.OnceValue(func() (pages []Page) {
	for _, row := range tableRow.FindAllStringSubmatch(read("README.md"), -1) {
		about, title, name := row[1], row[2], row[3]
		if strings.Contains(name, "/") {
			continue // not in this folder
		}
		pages = append(pages, Page{Name: name, Title: title, About: about, Text: relink(read(name))})
	}
	return pages
})

// tableRow is a row of the table in README.md: what the reader wants, and the link to the document.
var tableRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| \[([^\]]+)\]\(([^)]+)\) \|$`)

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // README.md lists a document that does not exist
	}
	return string(text)
}

// Find returns a document by the name of its file.
func Find(name string) (Page, bool) {
	for _, page := range Pages() {
		if page.Name == name {
			return page, true
		}
	}
	return Page{}, false
}

var link = regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)

// relink makes links to what is not served lead to the source.
func relink(text string) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		parts := link.FindStringSubmatch(found)
		target, anchor := parts[1], parts[2]
		outside, isOutside := strings.CutPrefix(target, "../")
		switch {
		case strings.Contains(target, ":") || isServed(target):
			return found
		case isOutside:
			return "](" + source + outside + anchor + ")"
		}
		return "](" + source + "docs/" + target + anchor + ")"
	})
}

// isServed reports whether the target of a link is a document that is served.
func isServed(target string) bool {
	if strings.Contains(target, "/") || !strings.HasSuffix(target, ".md") || target == "README.md" {
		return false
	}
	_, err := files.Open(target)
	return err == nil
}

// intro is what a language model should know first.
const intro = `# Assay

> Assay publishes compute price indices: GPU prices in USD per GPU-hour, prices of memory and of language models'
> tokens, metrics of coding tools, and data-center sites. Its API only reads.

- Without a key: daily values of the free GPU models for three months, and their current prices. An API key
  (` + "`Authorization: Bearer KEY`" + `) opens the rest.
- ` + "`/openapi.json`" + ` describes every route, ` + "`/mcp`" + ` offers them as tools (Model Context Protocol).
- Values are never overwritten: a correction adds a revision, and ` + "`as_of`" + ` reads any past state. Do not fill
  gaps: a period without a value is left out.

`

// forUsers are the documents that explain how to use a server. The others are for those who run one, or change it.
var forUsers = []string{"getting-started.md", "api.md", "mcp.md", "methodology.md", "proof.md", "dashboard.md"}

// List is llms.txt: what there is to read, as llmstxt.org describes it.
var List = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("## Documents\n\n")
	writeLinks(&b, true)
	b.WriteString("- [OpenAPI](/openapi.json): every route, with its parameters and fields\n" +
		"- [All of the documents above](/llms-full.txt): in one text\n\n## Optional\n\n")
	writeLinks(&b, false)
	return b.String()
})

func writeLinks(b *strings.Builder, users bool) {
	for _, page := range Pages() {
		if isForUsers(page.Name) == users {
			b.WriteString("- [" + page.Title + "](" + Path + page.Name + "): " + page.About + "\n")
		}
	}
}

func isForUsers(name string) bool {
	for _, known := range forUsers {
		if known == name {
			return true
		}
	}
	return false
}

// Full is llms-full.txt: the documents for users of a server, one after the other.
var Full = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString(intro)
	for _, page := range Pages() {
		if isForUsers(page.Name) {
			b.WriteString("---\nSource: " + Path + page.Name + "\n\n" + absolute(page.Text) + "\n")
		}
	}
	return b.String()
})

var served = regexp.MustCompile(`\]\(([a-z-]+\.md)`)

// absolute makes links between documents work from another path than theirs.
func absolute(text string) string { return served.ReplaceAllString(text, "]("+Path+"$1") }
