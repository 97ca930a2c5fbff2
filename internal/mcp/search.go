package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/docs"
	"github.com/assaydata/assay/internal/web"
)

// The tools search and fetch have the form that connectors of chat programs expect: ids in the one, texts in the other.

// maxFound is how many results a search has.
const maxFound = 20

var (
	searchInput  = onlyArgument("query", "Words, such as H100, openai or rate limits.")
	fetchInput   = onlyArgument("id", "An id from search, such as gpu:H100 SXM.")
	text         = object{"type": "string"}
	searchOutput = encode(object{
		"type": "object", "required": []string{"results"},
		"properties": object{"results": object{"type": "array", "items": object{
			"type": "object", "required": []string{"id", "title", "url"},
			"properties": object{"id": text, "title": text, "url": text},
		}}},
	})
	fetchOutput = encode(object{
		"type": "object", "required": []string{"id", "title", "text", "url", "metadata"},
		"properties": object{"id": text, "title": text, "text": text, "url": text, "metadata": object{"type": "object"}},
	})
)

func onlyArgument(name, about string) json.RawMessage {
	return encode(object{
		"type": "object", "required": []string{name},
		"properties": object{name: object{"type": "string", "description": about}},
	})
}

// item is something that can be found.
type item struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	URL   string `json:"url"`

	body string // to search in
}

// kind is a kind of item from a catalog: how a row of the catalog is called, and which tool shows one.
type kind struct {
	name, path string
	id, title  string // fields of a row
	about      string // of what
	page       string // of the dashboard
	tool       string
	argument   string
}

var kinds = []kind{
	{
		"gpu", "/api/gpu-types", "gpu_name", "gpu_name", "GPU model, price in USD per GPU-hour", "/gpu/",
		"get_gpu_price", "gpu",
	},
	{"lab", "/api/token-types", "lab", "label", "lab, token price index", "/tokens", "get_token_price_index", "lab"},
	{"memory", "/api/memory-types", "id", "memory_type", "memory type, price", "/memory", "get_memory_index", "type"},
	{
		"coding", "/api/llm-coding/products", "id", "label", "metric of coding tools", "/coding",
		"get_llm_coding_history", "product",
	},
}

// search finds items by words.
func (s *service) search(ctx context.Context, t *tool, given arguments) (result, problem json.RawMessage, err error) {
	query, err := given.only(t.name, "query")
	if err != nil {
		return nil, nil, err
	}
	items := slices.Clone(sections())
	for i := range kinds {
		rows, problem, err := s.catalog(ctx, &kinds[i])
		if err != nil || problem != nil {
			return nil, problem, err
		}
		items = append(items, rows...)
	}
	found := best(items, strings.Fields(strings.ToLower(query)))
	for i := range found {
		found[i].URL = s.Source.Base(ctx) + found[i].URL
	}
	return encode(map[string][]item{"results": found}), nil, nil
}

// only returns the one argument of a tool.
func (a arguments) only(tool, name string) (string, error) {
	taken, err := a.take(tool, []string{name})
	if err != nil {
		return "", err
	}
	if taken[name] == "" {
		return "", missing(tool, name)
	}
	return taken[name], nil
}

// catalog reads the items of a catalog.
func (s *service) catalog(ctx context.Context, k *kind) (items []item, problem json.RawMessage, err error) {
	found, problem, err := s.get(ctx, k.path, 0, false)
	if err != nil || problem != nil {
		return nil, problem, err
	}
	var body struct {
		Data []map[string]any `json:"data"`
	}
	if err := json.Unmarshal(found.whole(), &body); err != nil {
		return nil, nil, unreachable(err)
	}
	for _, row := range body.Data {
		id, _ := row[k.id].(string)
		title, _ := row[k.title].(string)
		page := k.page
		if strings.HasSuffix(page, "/") {
			page += url.PathEscape(id)
		}
		items = append(items, item{ID: k.name + ":" + id, Title: title + " (" + k.about + ")", URL: page, body: id})
	}
	return items, nil, nil
}

// best are the items that have most of the words, those in the title first. Every item has at least one.
func best(items []item, words []string) []item {
	scores := map[string]int{}
	found := []item{}
	for _, i := range items {
		title, body, score := strings.ToLower(i.Title), strings.ToLower(i.body), 0
		for _, word := range words {
			switch {
			case strings.Contains(title, word):
				score += 10
			case strings.Contains(body, word):
				score++
			}
		}
		if score > 0 {
			scores[i.ID] = score
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b item) int { return cmp.Compare(scores[b.ID], scores[a.ID]) })
	return found[:min(len(found), maxFound)]
}

// codeBlock is a block in which lines that begin with # are comments.
var codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")

// withoutCode is a text of the same length without such lines.
func withoutCode(text string) string {
	return codeBlock.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat(" ", len(block)) })
}

var sectionStart = regexp.MustCompile(`(?m)^##? (.+)$`)

// sections are those of the documents.
var sections = sync.OnceValue(func() (items []item) {
	for _, page := range docs.Pages() {
		starts := sectionStart.FindAllStringSubmatchIndex(withoutCode(page.Text), -1)
		for i, start := range starts {
			end := len(page.Text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			heading := page.Text[start[2]:start[3]]
			place := page.Name + "#" + anchor(heading)
			items = append(items, item{
				ID: "doc:" + place, Title: page.Title + ": " + heading, URL: docs.Path + place, body: page.Text[start[0]:end],
			})
		}
	}
	return items
})

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchor is the anchor of a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// document is the result of fetch.
type document struct {
	item

	Text     string            `json:"text"`
	Metadata map[string]string `json:"metadata"`
}

// fetch returns the text of an item.
func (s *service) fetch(ctx context.Context, t *tool, given arguments) (result, problem json.RawMessage, err error) {
	id, err := given.only(t.name, "id")
	if err != nil {
		return nil, nil, err
	}
	name, rest, _ := strings.Cut(id, ":")
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 && rest != "" {
		return s.fetchItem(ctx, &kinds[i], rest)
	}
	i := slices.IndexFunc(sections(), func(known item) bool { return known.ID == id })
	if i < 0 {
		return nil, nil, &assay.Error{
			Kind: assay.NotFound, Code: "invalid_parameter", Param: "id",
			Message: "There is nothing with the id \"" + web.Shown(id) + "\": take one that search has returned.",
		}
	}
	if err := s.Source.Count(ctx); err != nil {
		return nil, s.failure(ctx, err), nil
	}
	d := document{sections()[i], sections()[i].body, map[string]string{"type": "documentation"}}
	d.URL = s.Source.Base(ctx) + d.URL
	return encode(d), nil, nil
}

// fetchItem returns what the tool of a kind returns for one of its items.
func (s *service) fetchItem(ctx context.Context, k *kind, id string) (result, problem json.RawMessage, err error) {
	text, problem, err := s.callRoute(ctx, s.tools[k.tool], arguments{k.argument: id})
	if err != nil || problem != nil {
		return nil, problem, err
	}
	page := k.page
	if strings.HasSuffix(page, "/") {
		page += url.PathEscape(id)
	}
	return encode(document{
		item{ID: k.name + ":" + id, Title: id + " (" + k.about + ")", URL: s.Source.Base(ctx) + page},
		string(text),
		map[string]string{"type": k.name, "tool": k.tool},
	}), nil, nil
}
