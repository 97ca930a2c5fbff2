package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay/docs"
)

// Every document is listed, and so served.
func TestPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("%q, %v", files, err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == "README.md" })
	var names []string
	for _, page := range docs.Pages() {
		names = append(names, page.Name)
		if page.Title == "" || page.About == "" || !strings.HasPrefix(page.Text, "# ") {
			t.Errorf("%s: %q, %q, %.40q", page.Name, page.Title, page.About, page.Text)
		}
	}
	if slices.Sort(names); !slices.Equal(files, names) {
		t.Errorf("the folder has %q, README.md lists %q", files, names)
	}
	for _, name := range []string{"README.md", "docs.go", "../README.md", "", "nothing.md"} {
		if _, ok := docs.Find(name); ok {
			t.Errorf("%q is served", name)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links lead to what is served, or to the source.
func TestLinks(t *testing.T) {
	t.Parallel()
	const source = "https://github.com/assaydata/assay/blob/main/"
	known := map[string]bool{"/openapi.json": true, "/llms-full.txt": true}
	for _, page := range docs.Pages() {
		known[docs.Path+page.Name] = true
	}
	f := func(name, text, folder string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, found := range link.FindAllStringSubmatch(text, -1) {
				target, _, _ := strings.Cut(found[1], "#")
				if file, ok := strings.CutPrefix(target, source); ok {
					if _, err := os.Stat(filepath.Join("..", file)); err != nil {
						t.Errorf("%s leads to no file", found[1])
					}
					continue
				}
				if !strings.HasPrefix(target, "/") {
					target = folder + target
				}
				if target != folder && !known[target] && !strings.Contains(target, ":") {
					t.Errorf("%s is not served", found[1])
				}
			}
		})
	}
	for _, page := range docs.Pages() {
		f(page.Name, page.Text, docs.Path)
	}
	f("llms.txt", docs.List(), "")
	f("llms-full.txt", docs.Full(), "")
}

func TestTexts(t *testing.T) {
	t.Parallel()
	list, full := docs.List(), docs.Full()
	for _, want := range []string{"# Assay\n\n> ", "## Documents\n", "- [API guide](/docs/api.md): write a program that uses the API\n", "## Optional\n", "- [MCP server](/docs/mcp.md): "} {
		if !strings.Contains(list, want) {
			t.Errorf("llms.txt lacks %q:\n%s", want, list)
		}
	}
	for _, want := range []string{"Source: /docs/api.md\n", "Source: /docs/mcp.md\n", "[Proof](/docs/proof.md)"} {
		if !strings.Contains(full, want) {
			t.Errorf("llms-full.txt lacks %q", want)
		}
	}
	if strings.Contains(full, "Source: /docs/operate.md") {
		t.Error("llms-full.txt has what is for operators")
	}
}
