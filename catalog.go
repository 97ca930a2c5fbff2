package assay

import "slices"

// Catalog is what the operator publishes: data, not code. The order of each list is the registry order, which the API
// uses wherever it does not say otherwise.
type Catalog struct {
	GPUs           []GPU
	Regions        []string
	Labs           []Lab
	MemoryTypes    []MemoryType
	CodingProducts []CodingProduct
}

// GPU finds a model by its exact name.
func (c *Catalog) GPU(name string) (GPU, bool) {
	for _, g := range c.GPUs {
		if g.Name == name {
			return g, true
		}
	}
	return GPU{}, false
}

// Memory finds a memory type by its id or its exact name.
func (c *Catalog) Memory(idOrName string) (MemoryType, bool) {
	for _, m := range c.MemoryTypes {
		if m.ID == idOrName || m.MemoryType == idOrName {
			return m, true
		}
	}
	return MemoryType{}, false
}

// CodingTools returns the tools of the coding products in the order of the catalog, each once.
func (c *Catalog) CodingTools() (tools []string) {
	for _, p := range c.CodingProducts {
		for _, tool := range p.Tools {
			if !slices.Contains(tools, tool) {
				tools = append(tools, tool)
			}
		}
	}
	return tools
}

// CodingProduct finds a product by its id.
func (c *Catalog) CodingProduct(id string) (CodingProduct, bool) {
	for _, p := range c.CodingProducts {
		if p.ID == id {
			return p, true
		}
	}
	return CodingProduct{}, false
}

// HasRegion tells whether the region is Global or in the catalog.
func (c *Catalog) HasRegion(region string) bool {
	if region == Global {
		return true
	}
	for _, r := range c.Regions {
		if r == region {
			return true
		}
	}
	return false
}

// DefaultCatalog is what a new database starts with.
func DefaultCatalog() Catalog {
	return Catalog{
		GPUs: []GPU{
			{"H100 SXM", true},
			{"H200", true},
			{"A100 SXM4", true},
			{"RTX 5090", true},
			{"B200", true},
			{"RTX PRO 6000 WS", false},
		},
		Regions: []string{"us-east", "us-west", "eu-west", "eu-north", "ap-east"},
		Labs: []Lab{
			{"anthropic", "Anthropic", true},
			{"openai", "OpenAI", true},
			{"google", "Google", true},
			{"deepseek", "DeepSeek", true},
			{"minimax", "MiniMax", false},
			{"xiaomi", "Xiaomi", false},
			{"qwen", "Qwen", false},
			{"moonshotai", "Moonshot AI", false},
			{"z-ai", "Z.ai", false},
			{"mistralai", "Mistral AI", false},
			{"meta-llama", "Meta Llama", false},
		},
		MemoryTypes: []MemoryType{
			{"mem_ddr3_4gb", "DDR3 4Gb (512Mx8) 1600/1866", "dram"},
			{"mem_ddr4_16gb", "DDR4 16Gb (2Gx8) 3200", "dram"},
			{"mem_ddr4_16gb_ett", "DDR4 16Gb (2Gx8) eTT", "dram"},
			{"mem_ddr4_8gb", "DDR4 8Gb (1Gx8) 3200", "dram"},
			{"mem_ddr4_8gb_ett", "DDR4 8Gb (1Gx8) eTT", "dram"},
			{"mem_ddr5_16gb", "DDR5 16Gb (2Gx8) 4800/5600", "dram"},
			{"mem_ddr5_16gb_ett", "DDR5 16Gb (2Gx8) eTT", "dram"},
			{"mem_mlc_32gb", "MLC 32Gb (4Gx8)", "flash"},
			{"mem_mlc_64gb", "MLC 64Gb (8Gx8)", "flash"},
			{"mem_slc_1gb", "SLC 1Gb (128Mx8)", "flash"},
			{"mem_slc_2gb", "SLC 2Gb (256Mx8)", "flash"},
			{"mem_ddr4_udimm_16gb", "DDR4 UDIMM 16GB 3200", "module"},
			{"mem_ddr5_rdimm_32gb", "DDR5 RDIMM 32GB 4800/5600", "module"},
			{"mem_ddr5_udimm_16gb", "DDR5 UDIMM 16GB 4800/5600", "module"},
		},
		CodingProducts: []CodingProduct{
			{ID: "cc-prs", Label: "Claude PRs", Category: "prs", Kind: "count", Tools: []string{"cc"}},
			{ID: "codex-prs", Label: "Codex PRs", Category: "prs", Kind: "count", Tools: []string{"codex"}},
			{ID: "copilot-prs", Label: "Copilot PRs", Category: "prs", Kind: "count", Tools: []string{"copilot"}},
			{ID: "cursor-prs", Label: "Cursor PRs", Category: "prs", Kind: "count", Tools: []string{"cursor"}},
			{ID: "devin-prs", Label: "Devin PRs", Category: "prs", Kind: "count", Tools: []string{"devin"}},
			{ID: "cc-commits", Label: "Claude Commits", Category: "commits", Kind: "count", Tools: []string{"cc"}},
			{ID: "cc-merge", Label: "Claude Merge", Category: "merge", Kind: "pct", Tools: []string{"cc"}},
			{ID: "codex-merge", Label: "Codex Merge", Category: "merge", Kind: "pct", Tools: []string{"codex"}},
			{ID: "copilot-merge", Label: "Copilot Merge", Category: "merge", Kind: "pct", Tools: []string{"copilot"}},
			{ID: "cursor-merge", Label: "Cursor Merge", Category: "merge", Kind: "pct", Tools: []string{"cursor"}},
			{ID: "devin-merge", Label: "Devin Merge", Category: "merge", Kind: "pct", Tools: []string{"devin"}},
			{
				ID: "cc-vs-codex", Label: "Claude vs Codex", Category: "prs", Kind: "count", Compare: true,
				SeriesLabels: []string{"Claude PRs", "Codex PRs"}, Tools: []string{"cc", "codex"},
			},
			{
				ID: "cc-vs-codex-merge", Label: "Claude vs Codex Merge", Category: "merge", Kind: "pct", Compare: true,
				SeriesLabels: []string{"Claude Merge", "Codex Merge"}, Tools: []string{"cc", "codex"},
			},
		},
	}
}
