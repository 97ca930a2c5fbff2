package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

var catalogCommand = &command{
	name: "catalog", arguments: "[add|set KIND NAME] [flags]", summary: "list what is published, add to it, make it free or paid",
	details: `  assay catalog
  assay catalog add gpu NAME [--free]
  assay catalog add region NAME
  assay catalog add lab LAB --label LABEL [--free]
  assay catalog add memory-type ID --name NAME --category dram|flash|module
  assay catalog add coding-product ID --label LABEL --category prs|commits|merge --tool TOOL
                                  [--tool2 TOOL --series-labels LABEL,LABEL]
  assay catalog set gpu|lab NAME --free|--paid

Without a word it lists the catalogs in registry order. A running server takes a change over within a second, in
its answers, its messages and its description. What is new is paid unless --free is given. Nothing is ever
removed or renamed, so a name means the same for good; names that differ only in case are refused. Names have up
to 64 bytes, begin with a letter or a digit and hold no comma; ids and regions are made of lower-case letters,
digits, - and _.`,
	run: runCatalog,
}

// catalogConfig is what the command is told.
type catalogConfig struct {
	at                        place
	label, name, category     string
	tool, tool2, seriesLabels string
	free, paid                bool
}

func runCatalog(ctx context.Context, c *command, args []string, s streams) error {
	words := 0 // before the flags: what to do, with what kind, and the name
	for words < len(args) && !strings.HasPrefix(args[words], "-") {
		words++
	}
	var config catalogConfig
	flags := newFlags(c, s)
	config.at.register(flags, "assay-data")
	flags.BoolVar(&config.free, "free", false, "readable without a key, inside the free window")
	flags.BoolVar(&config.paid, "paid", false, "readable with a key only")
	flags.StringVar(&config.label, "label", "", "`LABEL` to display, of a lab or a coding product")
	flags.StringVar(&config.name, "name", "", "`NAME` of a memory type")
	flags.StringVar(&config.category, "category", "", "`CATEGORY` of a memory type or a coding product")
	flags.StringVar(&config.tool, "tool", "", "`TOOL` that a coding product is about")
	flags.StringVar(&config.tool2, "tool2", "", "`TOOL` that it is compared with")
	flags.StringVar(&config.seriesLabels, "series-labels", "", "`LABEL,LABEL` of the two that are compared")
	if err := parse(flags, args[words:]); err != nil {
		return err
	}
	said := append(slices.Clone(args[:words]), flags.Args()...)
	act, err := config.action(said, flags)
	if err != nil {
		return usageError{err}
	}
	open := openStore
	if len(said) == 0 {
		open = openExisting // a list of what a slip of the hand would make is no answer
	}
	db, err := open(ctx, config.at)
	if err != nil {
		return err
	}
	defer db.Close()
	return act(ctx, db, s)
}

// catalogAction does what the command line says.
type catalogAction func(ctx context.Context, db *store.DB, s streams) error

// The flags, besides --dir and --store, that go with each kind.
var (
	addFlags = map[string][]string{
		"gpu": {"free"}, "region": {}, "lab": {"label", "free"}, "memory-type": {"name", "category"},
		"coding-product": {"label", "category", "tool", "tool2", "series-labels"},
	}
	setFlags = map[string][]string{"gpu": {"free", "paid"}, "lab": {"free", "paid"}}
)

const (
	addKinds = "gpu, region, lab, memory-type and coding-product"
	setKinds = "gpu and lab"
)

// action reads the words of the command line and holds the flags against them.
func (c *catalogConfig) action(said []string, flags *flag.FlagSet) (catalogAction, error) {
	verb := ""
	if len(said) > 0 {
		verb = said[0]
	}
	byKind, kinds, act := map[string][]string{"": {}}, "", catalogAction(listCatalog)
	switch verb {
	case "":
	case "add":
		byKind, kinds, act = addFlags, addKinds, c.add(said)
	case "set":
		byKind, kinds, act = setFlags, setKinds, c.set(said)
	default:
		return nil, fmt.Errorf("there is nothing called %q to do: say add or set, or nothing for the list", verb)
	}
	kind := ""
	if len(said) > 1 {
		kind = said[1]
	}
	allowed, ok := byKind[kind]
	switch {
	case !ok:
		return nil, fmt.Errorf("say what to %s; the kinds are %s", verb, kinds)
	case verb != "" && len(said) != 3:
		return nil, fmt.Errorf("assay catalog %s %s takes one name; put one that has spaces in quotes", verb, kind)
	}
	var wrong error
	flags.Visit(func(f *flag.Flag) {
		if !isPlaceFlag(f.Name) && !slices.Contains(allowed, f.Name) {
			wrong = fmt.Errorf("--%s does not go with %s", f.Name, strings.TrimSpace("assay catalog "+verb+" "+kind))
		}
	})
	if wrong == nil && verb == "set" && c.free == c.paid {
		wrong = errors.New("say --free or --paid")
	}
	return act, wrong
}

func (c *catalogConfig) add(said []string) catalogAction {
	return func(ctx context.Context, db *store.DB, s streams) error {
		if err := db.GrowCatalog(ctx, c.entry(said[1], said[2])); err != nil {
			return fmt.Errorf("add %s: %w", said[1], err)
		}
		fmt.Fprintf(s.out, "added: %s %s%s\n", said[1], said[2], c.accessOf(said[1]))
		return nil
	}
}

// accessOf is the access of a new entry for people, where its kind has one.
func (c *catalogConfig) accessOf(kind string) string {
	if _, ok := setFlags[kind]; !ok {
		return ""
	}
	return ", " + accessWord(c.free)
}

func accessWord(free bool) string {
	if free {
		return "free"
	}
	return "paid"
}

// entry is a catalog of the one entry that the command line describes.
func (c *catalogConfig) entry(kind, name string) (added assay.Catalog) {
	switch kind {
	case "gpu":
		added.GPUs = []assay.GPU{{Name: name, Free: c.free}}
	case "region":
		added.Regions = []string{name}
	case "lab":
		added.Labs = []assay.Lab{{Lab: name, Label: c.label, Free: c.free}}
	case "memory-type":
		added.MemoryTypes = []assay.MemoryType{{ID: name, MemoryType: c.name, Category: c.category}}
	case "coding-product":
		p := assay.CodingProduct{ID: name, Label: c.label, Category: c.category, Kind: assay.CodingKind(c.category), Tools: []string{c.tool}}
		if c.tool2 != "" {
			p.Compare, p.Tools = true, append(p.Tools, c.tool2)
		}
		p.SeriesLabels = splitList(c.seriesLabels)
		added.CodingProducts = []assay.CodingProduct{p}
	}
	return added
}

func (c *catalogConfig) set(said []string) catalogAction {
	return func(ctx context.Context, db *store.DB, s streams) error {
		set := db.SetGPUFree
		if said[1] == "lab" {
			set = db.SetLabFree
		}
		if err := set(ctx, said[2], c.free); err != nil {
			return fmt.Errorf("set %s: %w", said[1], err)
		}
		fmt.Fprintf(s.out, "set: %s %s, %s\n", said[1], said[2], accessWord(c.free))
		return nil
	}
}

// listCatalog prints a line an entry, so that it can be searched.
func listCatalog(ctx context.Context, db *store.DB, s streams) error {
	c, err := db.Catalog(ctx)
	if err != nil {
		return err
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		fmt.Fprintln(table, strings.Join(append(cells, "", "", "")[:5], "\t"))
	}
	line("KIND", "NAME", "CLASS", "LABEL", "TOOLS")
	for _, g := range c.GPUs {
		line("gpu", g.Name, accessWord(g.Free))
	}
	for _, r := range c.Regions {
		line("region", r)
	}
	for _, l := range c.Labs {
		line("lab", l.Lab, accessWord(l.Free), l.Label)
	}
	for _, m := range c.MemoryTypes {
		line("memory-type", m.ID, m.Category, m.MemoryType)
	}
	for _, p := range c.CodingProducts {
		tools := strings.Join(p.Tools, ", ")
		if p.Compare {
			tools += " as " + strings.Join(p.SeriesLabels, ", ")
		}
		line("coding-product", p.ID, p.Category, p.Label, tools)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for row := range strings.Lines(text.String()) {
		fmt.Fprintln(s.out, strings.TrimRight(row, " \n")) // most rows lack the last cells
	}
	return nil
}
