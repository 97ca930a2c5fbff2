package demo

import "github.com/assaydata/assay"

// launch is the day a GPU model comes to the market.
type launch struct {
	model   string
	at      int64
	premium micro // logarithm of what the first renters pay on top; half of it is gone after halfLife
	// Renters of the models in the same data centers move over, and their prices give way within settle.
	displaced micro
}

const (
	halfLife = 60 * assay.Day // of a launch premium
	settle   = 45 * assay.Day // of the models that a launch displaces
	adoption = 90 * assay.Day // until a new model has its share of the trades
)

// launches are the models that the market did not always have. The dates are not the real ones.
var launches = []launch{
	{model: "B200", at: 1_742_306_400_000, premium: 0.33 * million, displaced: -0.06 * million}, // 2025-03-18 14:00
}

// launchOf returns the launch of a model, nil for one that the market always had.
func launchOf(model string) *launch {
	for i := range launches {
		if launches[i].model == model {
			return &launches[i]
		}
	}
	return nil
}

// cut is a price cut: the largest provider lowers its prices at once, and the others follow within days, the large ones
// first.
type cut struct {
	at    int64
	depth micro // logarithm
}

// cuts are the price cuts of data-center GPUs.
var cuts = []cut{
	{at: 1_780_408_800_000, depth: -0.12 * million}, // 2026-06-02 14:00
}

// lastFollower is how long after a cut the last provider follows.
const lastFollower = 10 * assay.Day

// followed is when the provider of a rank in the listings takes part in a cut.
func (c *cut) followed(rank int) int64 {
	if rank == 0 {
		return c.at
	}
	wait := lastFollower * int64(rank) / int64(len(listings))
	return c.at + assay.Day/2 + wait/2 + below(scramble(uint64(c.at)+uint64(rank)), wait/2+assay.Day)
}
