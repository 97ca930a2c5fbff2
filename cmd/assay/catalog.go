package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

func newCatalogCommand(s *streams) *cobra.Command {
	list := newCatalogListCommand(s)
	parent := &cobra.Command{
		Use:   "catalog [COMMAND]",
		Short: "List, extend and hide entries of the catalogs",
		Long: `List the catalogs, add entries to them, make entries free or paid, and hide
them. Without a command it lists them.

A running server picks up a change within a second, in its responses, messages
and API description. New entries are paid unless added with --free. Entries are
never removed or renamed, so a name keeps its meaning; one that is retired, or
was added by mistake, can be hidden. Names that differ only in case are refused.
Names have up to 64 bytes, start with a letter or digit and
contain no comma. Ids and regions consist of lower-case letters, digits, - and
_.`,
		Example: `  assay catalog list
  assay catalog add gpu MI300X --free
  assay catalog set gpu MI300X --paid
  assay catalog hide gpu MI300X`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return needCommand(cmd, args)
			}
			return list.RunE(cmd, args)
		},
	}
	parent.Flags().AddFlagSet(list.Flags())
	return parentCommand(parent, list, newCatalogAddCommand(s), newCatalogSetCommand(s),
		newCatalogHideCommand(s), newCatalogUnhideCommand(s))
}

// catalogRow is an entry in assay catalog list.
type catalogRow struct {
	Kind         string   `json:"kind"` // gpu, region, lab, memory-type or coding-product
	Name         string   `json:"name"`
	Free         *bool    `json:"free,omitempty"`     // of GPUs and labs
	Category     string   `json:"category,omitempty"` // of memory types and coding products
	Label        string   `json:"label,omitempty"`
	Tools        []string `json:"tools,omitempty"`
	SeriesLabels []string `json:"series_labels,omitempty"`
	Hidden       bool     `json:"hidden,omitempty"`
}

func (r catalogRow) cells() []string {
	class, tools := r.Category, strings.Join(r.Tools, ", ")
	if r.Free != nil {
		class = accessWord(*r.Free)
	}
	if r.Hidden {
		class = strings.TrimPrefix(class+", hidden", ", ")
	}
	if len(r.SeriesLabels) > 0 {
		tools += " as " + strings.Join(r.SeriesLabels, ", ")
	}
	return []string{r.Kind, r.Name, class, r.Label, tools}
}

func accessWord(free bool) string {
	if free {
		return "free"
	}
	return "paid"
}

func catalogRows(c assay.Catalog) (rows []catalogRow) {
	for _, g := range c.GPUs {
		rows = append(rows, catalogRow{Kind: assay.KindGPU, Name: g.Name, Free: &g.Free})
	}
	for _, r := range c.Regions {
		rows = append(rows, catalogRow{Kind: assay.KindRegion, Name: r})
	}
	for _, l := range c.Labs {
		rows = append(rows, catalogRow{Kind: assay.KindLab, Name: l.Lab, Free: &l.Free, Label: l.Label})
	}
	for _, m := range c.MemoryTypes {
		rows = append(rows, catalogRow{Kind: assay.KindMemoryType, Name: m.ID, Category: m.Category, Label: m.MemoryType})
	}
	for _, p := range c.CodingProducts {
		row := catalogRow{Kind: assay.KindCodingProduct, Name: p.ID, Category: p.Category, Label: p.Label, Tools: p.Tools}
		if p.Compare {
			row.SeriesLabels = p.SeriesLabels
		}
		rows = append(rows, row)
	}
	return rows
}

func newCatalogListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the catalogs, one line per entry",
		Example: "  assay catalog list\n  assay catalog list --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				catalog, hidden, err := db.CatalogWithHidden(cmd.Context())
				if err != nil {
					return err
				}
				rows := catalogRows(catalog)
				for i, r := range rows {
					rows[i].Hidden = hidden[assay.CatalogEntry{Kind: r.Kind, Name: r.Name}]
				}
				header := []string{"KIND", "NAME", "CLASS", "LABEL", "TOOLS"}
				return printList(s, asJSON, rows, header, catalogRow.cells)
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newCatalogSetCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:     "set COMMAND",
		Short:   "Make a GPU or a lab free or paid",
		Example: "  assay catalog set gpu MI300X --paid\n  assay catalog set lab mistral --free",
	},
		newCatalogSetKindCommand(s, "gpu", "GPU", "MI300X", (*store.DB).SetGPUFree),
		newCatalogSetKindCommand(s, "lab", "lab", "mistral", (*store.DB).SetLabFree))
}

func newCatalogSetKindCommand(
	s *streams, kind, title, example string, set func(*store.DB, context.Context, string, bool) error,
) *cobra.Command {
	var location databaseLocation
	var free, paid bool
	cmd := &cobra.Command{
		Use:     kind + " NAME",
		Short:   "Make a " + title + " free or paid",
		Example: fmt.Sprintf("  assay catalog set %[1]s %[2]s --free\n  assay catalog set %[1]s %[2]s --paid", kind, example),
		Args:    arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if free == paid {
				return usagef("use either --free or --paid")
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				if err := set(db, cmd.Context(), args[0], free); err != nil {
					return err
				}
				s.say("set: %s %s, %s", kind, args[0], accessWord(free))
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&free, "free", false, "readable without a key, inside the free window")
	cmd.Flags().BoolVar(&paid, "paid", false, "readable with a key only")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}
