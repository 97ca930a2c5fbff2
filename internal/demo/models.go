package demo

import (
	"context"
	"math"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/tokens"
)

// class is a family of a lab's models. It has one model at a time, and for a while two: generations follow one another.
type class struct {
	lab, family string
	price       float64 // USD per million input tokens at the start of 2026; output costs four times as much
	ktok        float64 // thousand tokens a request
	requests    float64 // a day, in thousands, at the start of 2026
	openWeight  bool
	free        bool
}

// The numbers are plausible, not measured.
var classes = []class{
	{lab: "anthropic", family: "opus", price: 5, ktok: 7.5, requests: 900},
	{lab: "anthropic", family: "sonnet", price: 3, ktok: 6, requests: 4200},
	{lab: "anthropic", family: "haiku", price: 1, ktok: 3.5, requests: 2600},
	{lab: "anthropic", family: "fable", price: 0.6, ktok: 2.5, requests: 700},
	{lab: "openai", family: "flagship", price: 1.75, ktok: 5, requests: 5200},
	{lab: "openai", family: "mini", price: 0.3, ktok: 3.2, requests: 6100},
	{lab: "openai", family: "nano", price: 0.06, ktok: 1.8, requests: 3400},
	{lab: "openai", family: "pro", price: 16, ktok: 9, requests: 60},
	{lab: "openai", family: "codex", price: 1.4, ktok: 12, requests: 1300},
	{lab: "openai", family: "image", price: 7, ktok: 1.4, requests: 240},
	{lab: "google", family: "flash", price: 0.35, ktok: 4.1, requests: 7800},
	{lab: "google", family: "pro", price: 1.6, ktok: 6.4, requests: 2300},
	{lab: "google", family: "lite", price: 0.09, ktok: 2.4, requests: 5000},
	{lab: "google", family: "image", price: 3.5, ktok: 1.3, requests: 300},
	{lab: "deepseek", family: "chat", price: 0.25, ktok: 4.4, requests: 3900, openWeight: true},
	{lab: "deepseek", family: "reasoner", price: 0.5, ktok: 8.2, requests: 1500, openWeight: true},
	{lab: "deepseek", family: "mini", price: 0.08, ktok: 2.6, requests: 600, openWeight: true},
	{lab: "minimax", family: "text", price: 0.28, ktok: 4.6, requests: 800, openWeight: true},
	{lab: "minimax", family: "agent", price: 0.45, ktok: 9.1, requests: 450, openWeight: true},
	{lab: "minimax", family: "speech", price: 1.2, ktok: 1.1, requests: 120},
	{lab: "xiaomi", family: "flash", price: 0.1, ktok: 3.9, requests: 650, openWeight: true},
	{lab: "xiaomi", family: "pro", price: 0.4, ktok: 5.5, requests: 210, openWeight: true},
	{lab: "xiaomi", family: "trial", price: 0, ktok: 3, requests: 500, openWeight: true, free: true},
	{lab: "qwen", family: "max", price: 1.1, ktok: 5.2, requests: 700},
	{lab: "qwen", family: "plus", price: 0.3, ktok: 4.4, requests: 1700, openWeight: true},
	{lab: "qwen", family: "coder", price: 0.35, ktok: 10.5, requests: 1100, openWeight: true},
	{lab: "moonshotai", family: "k", price: 0.55, ktok: 6.8, requests: 1200, openWeight: true},
	{lab: "moonshotai", family: "thinking", price: 0.65, ktok: 11, requests: 420, openWeight: true},
	{lab: "moonshotai", family: "lite", price: 0.15, ktok: 2.2, requests: 300},
	{lab: "z-ai", family: "glm", price: 0.5, ktok: 6.1, requests: 1400, openWeight: true},
	{lab: "z-ai", family: "air", price: 0.15, ktok: 3.6, requests: 900, openWeight: true},
	{lab: "z-ai", family: "flash", price: 0, ktok: 2.7, requests: 1300, openWeight: true, free: true},
	{lab: "mistralai", family: "large", price: 1.5, ktok: 4.3, requests: 260},
	{lab: "mistralai", family: "medium", price: 0.4, ktok: 3.8, requests: 540},
	{lab: "mistralai", family: "small", price: 0.1, ktok: 2.5, requests: 1500, openWeight: true},
	{lab: "meta-llama", family: "maverick", price: 0.22, ktok: 4, requests: 800, openWeight: true},
	{lab: "meta-llama", family: "scout", price: 0.1, ktok: 3.3, requests: 950, openWeight: true},
	{lab: "meta-llama", family: "guard", price: 0.05, ktok: 0.9, requests: 700, openWeight: true},
}

// Days of a generation: one follows another after life, the more the class's salt says, and the old one is used for
// overlap more days. Halfway through its life a generation gets cheaper.
const (
	shortestLife = 240
	overlap      = 40
	start2024    = 19_723 // days since 1970: generations are counted from here
)

// AppendModels appends what was asked of the labs' models on a day. It depends on the seed and the day alone.
func (m *Market) AppendModels(dst []assay.ModelDay, day int64) []assay.ModelDay {
	n := day / assay.Day
	for i := range classes {
		c := &classes[i]
		salt := mix(m.seed, uint64(1000+i))
		life := shortestLife + int64(salt%160)
		before := int64(salt>>8) % life
		generation, age := (n+before)/life-(start2024+before)/life, (n+before)%life
		share := 1.0 // of the newest generation; the one before has the rest while it lasts
		if age < overlap {
			share = (float64(age) + 1) / (overlap + 1)
			dst = append(dst, c.modelDay(salt, day, generation-1, age+life, life, 1-share))
		}
		dst = append(dst, c.modelDay(salt, day, generation, age, life, share))
	}
	return dst
}

// modelDay is a day of one generation of the class, which came age days ago and has a share of the class's requests.
func (c *class) modelDay(salt uint64, day, generation, age, life int64, share float64) assay.ModelDay {
	hour := day / assay.Hour
	n := day / assay.Day
	growth := 1 / (1 - 0.3*yearsFrom2026(n)) // a class grows from 0.6 times its size of 2026 to 2.5 times
	requests := c.requests * 1000 * growth * (1 + 0.12*noise(salt+2, hour, 12*24) + 0.05*noise(salt+3, hour, 24) + 6*week(hour+12))
	ktok := c.ktok * (1 + 0.1*yearsFrom2026(n) + 0.05*noise(salt+4, hour, 25*24))
	output := 0.12 + 0.03*noise(salt+5, hour, 40*24) // share of the tokens
	model := assay.ModelDay{
		Day: day, Lab: c.lab, Model: c.family + "-" + strconv.FormatInt(generation+1, 10), Family: c.family,
		Requests: max(1, int64(requests*share)), OpenWeight: c.openWeight, Free: c.free,
	}
	tokens := ktok * 1000 * float64(model.Requests)
	model.OutputTokens = int64(tokens * output)
	model.InputTokens = int64(tokens) - model.OutputTokens
	if !c.free {
		price := max(1, int64(math.Round(c.inputPrice(salt, n, generation, age, life)*1000))) // billionths of a dollar a token
		model.Dollars = assay.Nanos(price * (model.InputTokens + 4*model.OutputTokens))
	}
	return model
}

// inputPrice is USD per million input tokens: that of the generation's first day, lower by a fifth to two fifths once it is
// half through its life.
func (c *class) inputPrice(salt uint64, n, generation, age, life int64) float64 {
	price := c.price / (1 + 0.25*yearsFrom2026(n-age))
	if age >= life/2 {
		price *= 0.8 - 0.2*unit(mix(salt+6, uint64(generation)))
	}
	return price
}

// yearsFrom2026 is how many years after the start of 2026 a day lies. Farther away it flattens out: it stays between -2
// and 2.
func yearsFrom2026(n int64) float64 {
	const start2026, daysPerYear = 20_454, 365.25
	years := float64(n-start2026) / daysPerYear
	return years / math.Sqrt(1+years*years/4)
}

// modelsAfter is how long after the end of a day its numbers come.
const modelsAfter = 10 * assay.Minute

// readModels imports the models' days that come in (from, until].
func (d *Demo) readModels(ctx context.Context, from, until int64) error {
	importer := ingest.Observations(ingest.Options{
		Store: d.Store, Catalog: d.catalog, NotAfter: func() int64 { return until },
		Rejected: func(r ingest.Reject) { d.Log.Error("demo model rejected", "reason", r.Reason) },
	}, tokens.Family)
	const delay = assay.Day + modelsAfter // from the beginning of a day to the coming of its numbers
	var days []assay.ModelDay
	for day := assay.StartOfDay(from-delay) + assay.Day; day+delay <= until; day += assay.Day {
		days = d.market.AppendModels(days[:0], day)
		for _, m := range days {
			if err := importer.Add(ctx, tokens.Family.Row(m)); err != nil {
				return err
			}
		}
	}
	return importer.Flush(ctx)
}
