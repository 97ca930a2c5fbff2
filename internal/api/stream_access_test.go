package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/apitest"
)

// TestStream_Access writes who gets which event, for people to read.
func TestStream_Access(t *testing.T) {
	t.Parallel()
	now := apitest.Now.UnixMilli()
	early := access.FreeFrom(access.FreeGPU, now) - 1
	earlyToken := access.FreeFrom(access.FreeLab, now) - 1
	var b strings.Builder
	line := func(name string, e access.Event) {
		row := fmt.Sprintf("%-46s", name)
		for tier := assay.Anonymous; tier <= assay.Full; tier++ {
			word := "-"
			if access.Sees(tier, e, now) {
				word = tier.String()
			}
			row += fmt.Sprintf(" %-9s", word)
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	for kind := range assay.NumEventKinds {
		if kind == assay.ObservationEvent {
			continue
		}
		line(kind.String()+", free GPU", access.Event{Kind: kind, GPU: true, At: now})
		line(kind.String()+", paid GPU", access.Event{Kind: kind, GPU: true, Paid: "RTX PRO 6000 WS", At: now})
	}
	line("day, free GPU, before the free window", access.Event{Kind: assay.DayEvent, GPU: true, At: early})
	line("correction, hourly", access.Event{Kind: assay.CorrectionEvent, GPU: true, Hourly: true, At: now})
	for family := range assay.FamilyUtilization + 1 {
		line("correction, "+family.String(), access.Event{Kind: assay.CorrectionEvent, Family: family, At: now})
		line("observation, "+family.String(), access.Event{Kind: assay.ObservationEvent, Family: family, At: now})
	}
	models := access.Event{Kind: assay.ObservationEvent, Family: assay.FamilyModels, At: now}
	models.Paid = "minimax"
	line("observation, models, paid lab", models)
	models.Paid, models.At = "", earlyToken
	line("observation, models, before the free window", models)
	apitest.Golden(t, "events.txt", b.String())
}
