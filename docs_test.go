package assay_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	markedLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

	// sourcePath is a file or folder of the code as documents name it.
	sourcePath = regexp.MustCompile(`(?:^|[^.\w])((?:internal|tools|cmd|scripts|ui/src)/[a-zA-Z0-9_./-]*[a-zA-Z0-9])`)
)

// history lists the documents that name files as they were, not as they are.
var history = []string{"CHANGELOG.md"}

// readMarkdown reads the Markdown files of the repository, by path.
func readMarkdown(t *testing.T) map[string]string {
	t.Helper()
	tree, found := os.DirFS("."), map[string]string{}
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := path.Base(file); base == "node_modules" || base == "testdata" || base == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		found[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// anchors lists the anchors of a document as GitHub makes them from its headings.
func anchors(markdown string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(markdown, ""), -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(match[1])), "")
		found[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return found
}

// TestDocs_Links checks that every relative link of every document leads to a file and, with an anchor, to a heading.
func TestDocs_Links(t *testing.T) {
	t.Parallel()
	documents := readMarkdown(t)
	for file, text := range documents {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			prose := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "``")
			for _, match := range markedLink.FindAllStringSubmatch(prose, -1) {
				checkLink(t, documents, file, match[1])
			}
		})
	}
}

func checkLink(t *testing.T, documents map[string]string, file, link string) {
	t.Helper()
	target, anchor, _ := strings.Cut(link, "#")
	if strings.Contains(target, ":") {
		return // another host
	}
	linked := file
	if target != "" {
		linked = path.Join(path.Dir(file), target)
	}
	if _, err := os.Stat(linked); err != nil {
		t.Errorf("links to %s, which does not exist", link)
	} else if anchor != "" && !anchors(documents[linked])[anchor] {
		t.Errorf("links to %s, but %s has no such heading", link, linked)
	}
}

// TestDocs_Paths checks that the files and folders of the code that documents name exist.
func TestDocs_Paths(t *testing.T) {
	t.Parallel()
	for file, text := range readMarkdown(t) {
		if slices.Contains(history, file) {
			continue
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			for _, match := range sourcePath.FindAllStringSubmatch(text, -1) {
				if _, err := os.Stat(match[1]); err != nil {
					t.Errorf("names %s, which does not exist", match[1])
				}
			}
		})
	}
}
