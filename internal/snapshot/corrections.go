package snapshot

import (
	"cmp"
	"slices"
	"sort"

	"github.com/assaydata/assay"
)

// Correction is a revision made by a restatement.
type Correction struct {
	assay.Line
	Grain       assay.Grain
	Revision    assay.Revision
	Previous    assay.Nanos // the value before
	HadValue    bool        // false if there was no value before
	CorrectedAt int64
	Reason      string
}

// Position is where a correction stands in the list of all corrections. It is the same on every node and after a
// restart.
type Position struct {
	Version int64
	assay.Line
	Grain assay.Grain
	At    int64
}

// Position returns the correction's position.
func (c *Correction) Position() Position {
	return Position{Version: c.Revision.Version, Line: c.Line, Grain: c.Grain, At: c.Revision.At}
}

// Compare orders positions by version, GPU, region, grain and slot.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Version, q.Version), cmp.Compare(p.GPU, q.GPU), cmp.Compare(p.Region, q.Region),
		cmp.Compare(p.Grain, q.Grain), cmp.Compare(p.At, q.At))
}

// CorrectionsAfter returns the corrections after a position, in order.
func (s *Snapshot) CorrectionsAfter(p Position) []Correction {
	all := s.corrections.Items()
	return all[sort.Search(len(all), func(i int) bool { return all[i].Position().Compare(p) > 0 }):]
}

func (s *Snapshot) addCorrections(corrections []Correction) {
	slices.SortFunc(corrections, func(a, b Correction) int { return a.Position().Compare(b.Position()) })
	s.corrections = s.corrections.With(corrections)
}

// correctionsIn lists the new revisions made by restatements; old is the series before them.
func (s *Snapshot) correctionsIn(
	old *Series, line assay.Line, grain assay.Grain, revisions []assay.Revision,
) (corrections []Correction) {
	restating := s.restating.Items()
	if len(restating) == 0 {
		return nil
	}
	for k, r := range revisions {
		i := sort.Search(len(restating), func(i int) bool { return restating[i].Version >= r.Version })
		if i == len(restating) || restating[i].Version != r.Version {
			continue // nearly all, at the start of a node
		}
		p := restating[i]
		c := Correction{Line: line, Grain: grain, Revision: r, CorrectedAt: p.PublishedAt, Reason: p.Reason}
		if k > 0 && revisions[k-1].At == r.At {
			c.setPrevious(revisions[k-1])
		} else if i, shown := old.Find(r.At); shown {
			c.setPrevious(assay.Revision{Point: old.At(i)})
		}
		corrections = append(corrections, c)
	}
	return corrections
}

func (c *Correction) setPrevious(r assay.Revision) {
	if !r.Gone {
		c.Previous, c.HadValue = r.Value, true
	}
}
