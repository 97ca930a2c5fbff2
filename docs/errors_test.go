package docs_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/docs"
	"github.com/assaydata/assay/internal/apitest"
)

// Every code of the API has a section, to which errors lead.
func TestErrors_EveryCode(t *testing.T) {
	t.Parallel()
	description, err := apitest.Description(assay.DefaultCatalog())
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, code := range description.Components.Schemas["ErrorCode"].Value.Enum {
		codes = append(codes, code.(string))
	}
	page, _ := docs.Find("errors.md")
	var sections []string
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(page.Text, -1) {
		sections = append(sections, heading[1])
	}
	slices.Sort(codes)
	if slices.Sort(sections); !slices.Equal(codes, sections) || len(codes) < 70 {
		t.Errorf("the codes are %q, errors.md has %q", codes, sections)
	}
}
