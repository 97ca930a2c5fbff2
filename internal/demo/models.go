package demo

import (
	"iter"
	"strconv"

	"github.com/assaydata/assay"
)

// class is a family of a lab's models. It has one model at a time, and for a while two: generations follow one another.
type class struct {
	lab, family string
	price       micro // USD per million input tokens at the start of 2026; output costs four times as much
	ktok        micro // thousand tokens a request
	requests    int64 // a day at the start of 2026
	openWeight  bool
	free        bool
}

// The numbers are plausible, not measured.
var classes = []class{
	{lab: "anthropic", family: "opus", price: 5 * million, ktok: 7.5 * million, requests: 900_000},
	{lab: "anthropic", family: "sonnet", price: 3 * million, ktok: 6 * million, requests: 4_200_000},
	{lab: "anthropic", family: "haiku", price: 1 * million, ktok: 3.5 * million, requests: 2_600_000},
	{lab: "anthropic", family: "fable", price: 0.6 * million, ktok: 2.5 * million, requests: 700_000},
	{lab: "openai", family: "flagship", price: 1.75 * million, ktok: 5 * million, requests: 5_200_000},
	{lab: "openai", family: "mini", price: 0.3 * million, ktok: 3.2 * million, requests: 6_100_000},
	{lab: "openai", family: "nano", price: 0.06 * million, ktok: 1.8 * million, requests: 3_400_000},
	{lab: "openai", family: "pro", price: 16 * million, ktok: 9 * million, requests: 60_000},
	{lab: "openai", family: "codex", price: 1.4 * million, ktok: 12 * million, requests: 1_300_000},
	{lab: "openai", family: "image", price: 7 * million, ktok: 1.4 * million, requests: 240_000},
	{lab: "google", family: "flash", price: 0.35 * million, ktok: 4.1 * million, requests: 7_800_000},
	{lab: "google", family: "pro", price: 1.6 * million, ktok: 6.4 * million, requests: 2_300_000},
	{lab: "google", family: "lite", price: 0.09 * million, ktok: 2.4 * million, requests: 5_000_000},
	{lab: "google", family: "image", price: 3.5 * million, ktok: 1.3 * million, requests: 300_000},
	{lab: "deepseek", family: "chat", price: 0.25 * million, ktok: 4.4 * million, requests: 3_900_000, openWeight: true},
	{
		lab: "deepseek", family: "reasoner", price: 0.5 * million, ktok: 8.2 * million, requests: 1_500_000,
		openWeight: true,
	},
	{lab: "deepseek", family: "mini", price: 0.08 * million, ktok: 2.6 * million, requests: 600_000, openWeight: true},
	{lab: "minimax", family: "text", price: 0.28 * million, ktok: 4.6 * million, requests: 800_000, openWeight: true},
	{lab: "minimax", family: "agent", price: 0.45 * million, ktok: 9.1 * million, requests: 450_000, openWeight: true},
	{lab: "minimax", family: "speech", price: 1.2 * million, ktok: 1.1 * million, requests: 120_000},
	{lab: "xiaomi", family: "flash", price: 0.1 * million, ktok: 3.9 * million, requests: 650_000, openWeight: true},
	{lab: "xiaomi", family: "pro", price: 0.4 * million, ktok: 5.5 * million, requests: 210_000, openWeight: true},
	{lab: "xiaomi", family: "trial", price: 0, ktok: 3 * million, requests: 500_000, openWeight: true, free: true},
	{lab: "qwen", family: "max", price: 1.1 * million, ktok: 5.2 * million, requests: 700_000},
	{lab: "qwen", family: "plus", price: 0.3 * million, ktok: 4.4 * million, requests: 1_700_000, openWeight: true},
	{lab: "qwen", family: "coder", price: 0.35 * million, ktok: 10.5 * million, requests: 1_100_000, openWeight: true},
	{lab: "moonshotai", family: "k", price: 0.55 * million, ktok: 6.8 * million, requests: 1_200_000, openWeight: true},
	{
		lab: "moonshotai", family: "thinking", price: 0.65 * million, ktok: 11 * million, requests: 420_000,
		openWeight: true,
	},
	{lab: "moonshotai", family: "lite", price: 0.15 * million, ktok: 2.2 * million, requests: 300_000},
	{lab: "z-ai", family: "glm", price: 0.5 * million, ktok: 6.1 * million, requests: 1_400_000, openWeight: true},
	{lab: "z-ai", family: "air", price: 0.15 * million, ktok: 3.6 * million, requests: 900_000, openWeight: true},
	{lab: "z-ai", family: "flash", price: 0, ktok: 2.7 * million, requests: 1_300_000, openWeight: true, free: true},
	{lab: "mistralai", family: "large", price: 1.5 * million, ktok: 4.3 * million, requests: 260_000},
	{lab: "mistralai", family: "medium", price: 0.4 * million, ktok: 3.8 * million, requests: 540_000},
	{lab: "mistralai", family: "small", price: 0.1 * million, ktok: 2.5 * million, requests: 1_500_000, openWeight: true},
	{lab: "meta-llama", family: "maverick", price: 0.22 * million, ktok: 4 * million, requests: 800_000, openWeight: true},
	{lab: "meta-llama", family: "scout", price: 0.1 * million, ktok: 3.3 * million, requests: 950_000, openWeight: true},
	{lab: "meta-llama", family: "guard", price: 0.05 * million, ktok: 0.9 * million, requests: 700_000, openWeight: true},
}

// A generation lasts shortestLife days, or up to 160 more, depending on the salt of its class. The generation before
// it is used for overlap more days. Halfway through its life a generation gets cheaper, and again when the next one
// comes.
const (
	shortestLife = 240
	overlap      = 40
	start2024    = 19_723 // days since 1970: generations are counted from here
)

// AppendModels appends the use of the labs' models on a day. It depends on the seed and the day alone.
func (m *Market) AppendModels(dst []assay.ModelDay, day int64) []assay.ModelDay {
	n := day / assay.Day
	for i := range classes {
		c := &classes[i]
		salt := mix(m.seed, uint64(1000+i))
		life := shortestLife + int64(salt%160)
		before := int64(salt>>8) % life
		generation, age := (n+before)/life-(start2024+before)/life, (n+before)%life
		share := micro(million) // of the newest generation; the one before has the rest while it lasts
		if age < overlap {
			share = (age + 1) * million / (overlap + 1)
			dst = append(dst, c.modelDay(salt, day, generation-1, age+life, life, million-share))
		}
		dst = append(dst, c.modelDay(salt, day, generation, age, life, share))
	}
	return dst
}

// modelDay is a day of one generation of the class, which came age days ago and has a share of the class's requests.
func (c *class) modelDay(salt uint64, day, generation, age, life int64, share micro) assay.ModelDay {
	n := day / assay.Hour
	years := yearsFrom2026(n)
	growth := million * million / (million - 3*years/10) // a class grows from 0.6 times its size of 2026 to 2.5 times
	swing := million + 12*noise(salt+2, n, 12*24)/100 + 5*noise(salt+3, n, 24)/100 + 6*week(n+12)/100
	model := assay.ModelDay{
		Day: day, Lab: c.lab, Model: c.family + "-" + strconv.FormatInt(generation+1, 10), Family: c.family,
		Requests: max(1, times(times(times(c.requests, growth), swing), share)), OpenWeight: c.openWeight, Free: c.free,
	}
	perRequest := times(c.ktok, million+years/10+5*noise(salt+4, n, 25*24)/100) / 1000
	tokens := perRequest * model.Requests
	model.OutputTokens = times(tokens, 120_000+3*noise(salt+5, n, 40*24)/100)
	model.InputTokens = tokens - model.OutputTokens
	if !c.free {
		price := max(1, (c.inputPrice(salt, n, generation, age, life)+500)/1000) // nanodollars a token
		model.Split = true
		model.InputDollars = assay.Nanos(price * model.InputTokens)
		model.OutputDollars = assay.Nanos(4 * price * model.OutputTokens)
		model.Dollars = model.InputDollars + model.OutputDollars
	}
	return model
}

// inputPrice is USD per million input tokens at hour n: that of the generation's first day, lower by a fifth to two
// fifths once it is half through its life, and by another tenth when its successor comes.
func (c *class) inputPrice(salt uint64, n, generation, age, life int64) micro {
	price := c.price * million / (million + yearsFrom2026(n-24*age)/4)
	if age >= life/2 {
		price = times(price, 800_000-unit(mix(salt+6, uint64(generation)))/5)
	}
	if age >= life {
		price = price * 9 / 10
	}
	return price
}

// modelsAfter is how long after the end of a day its numbers come.
const modelsAfter = 10 * assay.Minute

// models are the models' days whose numbers come in (from, until].
func (d *Demo) models(from, until int64) iter.Seq[assay.ModelDay] {
	return daily(from, until, assay.Day+modelsAfter, d.market.AppendModels)
}
