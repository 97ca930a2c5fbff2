package demo

import (
	"iter"

	"github.com/assaydata/assay"
)

// codingAfter is how long after the end of a day its metrics come.
const codingAfter = assay.Hour

// codingTool is how a coding tool is used.
type codingTool struct {
	prs     int64 // pull requests on a working day at the start of 2026
	growth  micro // the share by which their number grows in a year, less than a half
	merged  micro // the share that is merged
	commits micro // in a pull request
}

// codingTools are the tools. Other tools are like otherTool.
var codingTools = map[string]codingTool{
	"cc":      {prs: 14_200, growth: 450_000, merged: 790_000, commits: 4_600_000},
	"codex":   {prs: 17_500, growth: 480_000, merged: 840_000, commits: 2_200_000},
	"copilot": {prs: 9_300, growth: 250_000, merged: 580_000, commits: 3_100_000},
	"cursor":  {prs: 5_100, growth: 300_000, merged: 710_000, commits: 3_400_000},
	"devin":   {prs: 1_900, growth: 100_000, merged: 620_000, commits: 5_200_000},
}

var otherTool = codingTool{prs: 1_000, growth: 100_000, merged: 600_000, commits: 3_000_000}

// AppendCoding appends the metrics of the tools on the day that begins at the given midnight. All tools rise and fall a
// little with the work of the programmers, and fall on weekends.
func (m *Market) AppendCoding(dst []assay.CodingDay, tools []string, midnight int64) []assay.CodingDay {
	n := midnight/assay.Hour + 12
	work := micro(million)
	if weekend(n) {
		work = 620_000
	}
	work = times(work, million+4*noise(mix(m.seed, 399), n, 15*24)/100)
	for i, tool := range tools {
		salt := mix(m.seed, 400+uint64(i))
		t, ok := codingTools[tool]
		if !ok {
			t = otherTool
		}
		swing := million + 5*noise(salt, n, 30*24)/100 + 3*noise(salt+7, n, 24)/100
		prs := times(times(times(t.prs, million+times(t.growth, yearsFrom2026(n))), work), swing)
		merged := t.merged + 3*noise(salt+8, n, 9*24)/100 + 12*noise(salt+9, n, 24)/1000
		commits := times(t.commits, million+5*noise(salt+10, n, 15*24)/100)
		dst = append(dst, assay.CodingDay{
			Day: midnight, Tool: tool, PRs: prs, Merged: times(prs, merged), Commits: times(prs, commits),
		})
	}
	return dst
}

// coding are the days whose metrics come in (from, until].
func (d *Demo) coding(from, until int64) iter.Seq[assay.CodingDay] {
	names := d.catalog.CodingTools()
	return daily(from, until, assay.Day+codingAfter, func(dst []assay.CodingDay, midnight int64) []assay.CodingDay {
		return d.market.AppendCoding(dst, names, midnight)
	})
}
