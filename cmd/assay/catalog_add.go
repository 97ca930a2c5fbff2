package main

import (
	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

func newCatalogAddCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "add COMMAND",
		Short: "Add an entry to a catalog",
		Example: `  assay catalog add gpu MI300X --free
  assay catalog add region sa-east`,
	}, newCatalogAddGPUCommand(s), newCatalogAddRegionCommand(s), newCatalogAddLabCommand(s),
		newCatalogAddMemoryTypeCommand(s), newCatalogAddCodingProductCommand(s))
}

// newCatalogEntryCommand completes a command that adds an entry. The entry is a catalog with nothing else in it.
func newCatalogEntryCommand(
	s *streams, argument string, free *bool, entry func(name string) assay.Catalog, cmd *cobra.Command,
) *cobra.Command {
	var location databaseLocation
	cmd.Args = arguments(argument)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withDatabase(cmd.Context(), location, func(db *store.DB) error {
			if err := db.AddToCatalog(cmd.Context(), entry(args[0])); err != nil {
				return err
			}
			access := ""
			if free != nil {
				access = ", " + accessWord(*free)
			}
			s.say("added: %s %s%s", cmd.Name(), args[0], access)
			return nil
		})
	}
	if free != nil {
		cmd.Flags().BoolVar(free, "free", false, "readable without a key, inside the free window (default: paid)")
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newCatalogAddGPUCommand(s *streams) *cobra.Command {
	var free bool
	entry := func(name string) assay.Catalog { return assay.Catalog{GPUs: []assay.GPU{{Name: name, Free: free}}} }
	return newCatalogEntryCommand(s, "NAME", &free, entry, &cobra.Command{
		Use: "gpu NAME", Short: "Add a GPU model", Example: "  assay catalog add gpu MI300X --free",
	})
}

func newCatalogAddRegionCommand(s *streams) *cobra.Command {
	entry := func(name string) assay.Catalog { return assay.Catalog{Regions: []string{name}} }
	return newCatalogEntryCommand(s, "NAME", nil, entry, &cobra.Command{
		Use: "region NAME", Short: "Add a region", Example: "  assay catalog add region sa-east",
	})
}

func newCatalogAddLabCommand(s *streams) *cobra.Command {
	var free bool
	var label string
	entry := func(id string) assay.Catalog {
		return assay.Catalog{Labs: []assay.Lab{{Lab: id, Label: label, Free: free}}}
	}
	cmd := newCatalogEntryCommand(s, "ID", &free, entry, &cobra.Command{
		Use: "lab ID", Short: "Add an AI lab", Example: "  assay catalog add lab cohere --label Cohere",
	})
	cmd.Flags().StringVar(&label, "label", "", "`LABEL` to display")
	return cmd
}

func newCatalogAddMemoryTypeCommand(s *streams) *cobra.Command {
	var name, category string
	entry := func(id string) assay.Catalog {
		return assay.Catalog{MemoryTypes: []assay.MemoryType{{ID: id, MemoryType: name, Category: category}}}
	}
	cmd := newCatalogEntryCommand(s, "ID", nil, entry, &cobra.Command{
		Use: "memory-type ID", Short: "Add a memory type",
		Example: `  assay catalog add memory-type mem_hbm3_24gb --name "HBM3 24GB" \
    --category module`,
	})
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the memory type")
	cmd.Flags().StringVar(&category, "category", "", "`CATEGORY`: dram, flash or module")
	completeFlag(cmd, "category", "dram", "flash", "module")
	return cmd
}

func newCatalogAddCodingProductCommand(s *streams) *cobra.Command {
	var label, category, tool, otherTool, seriesLabels string
	entry := func(id string) assay.Catalog {
		p := assay.CodingProduct{
			ID: id, Label: label, Category: category, Kind: assay.CodingKind(category), Tools: []string{tool},
			SeriesLabels: splitList(seriesLabels),
		}
		if otherTool != "" {
			p.Compare, p.Tools = true, append(p.Tools, otherTool)
		}
		return assay.Catalog{CodingProducts: []assay.CodingProduct{p}}
	}
	cmd := newCatalogEntryCommand(s, "ID", nil, entry, &cobra.Command{
		Use: "coding-product ID", Short: "Add a coding metric of one tool, or of two compared",
		Example: `  assay catalog add coding-product jules-merge --label "Jules Merge" \
    --category merge --tool jules
  assay catalog add coding-product cc-vs-jules --label "Claude vs Jules" \
    --category prs --tool cc --tool2 jules --series-labels "Claude,Jules"`,
	})
	cmd.Flags().StringVar(&label, "label", "", "`LABEL` to display")
	cmd.Flags().StringVar(&category, "category", "", "`CATEGORY`: prs, commits or merge")
	completeFlag(cmd, "category", "prs", "commits", "merge")
	cmd.Flags().StringVar(&tool, "tool", "", "`TOOL` that the metric is about")
	cmd.Flags().StringVar(&otherTool, "tool2", "", "second `TOOL` to compare with")
	cmd.Flags().StringVar(&seriesLabels, "series-labels", "", "`LABEL,LABEL` of the two compared series")
	return cmd
}
