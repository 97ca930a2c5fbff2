package verify

import (
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// While a notice says that the series of a GPU end, nothing after that is published.
func TestCheckEnds(t *testing.T) {
	t.Parallel()
	const hour = assay.Hour
	ends := []assay.Notice{
		{Number: 1, At: 10 * hour, Kind: assay.CessationNotice, GPU: "H200", About: 20*hour + 1},
		{Number: 2, At: 11 * hour, Kind: assay.MessageNotice, GPU: "H200"},
		{Number: 3, At: 30 * hour, Kind: assay.ResumptionNotice, GPU: "H100 SXM"},
	}
	resumed := append(ends[:2:2], assay.Notice{Number: 3, At: 30 * hour, Kind: assay.ResumptionNotice, GPU: "H200"})
	f := func(notices []assay.Notice, publishedAt, to int64, want string) {
		t.Helper()
		l := &store.Ledger{Notices: notices, Covers: store.Covers{{GPU: "H200", Grain: assay.Hourly}: {{
			Span: store.Span{From: to - hour, To: to}, Version: 7, PublishedAt: publishedAt,
		}}}}
		err := checkEnds(l, index.Schedule{index.Plain()})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("published at %d to %d: %v, want %q", publishedAt/hour, to/hour, err, want)
		}
	}
	const after = "publication 7, H200 hourly from 1970-01-01T20:00:00.000Z to 1970-01-01T21:00:00.000Z: " +
		"notice 1 says that the series end at 1970-01-01T20:00:00.001Z"
	f(ends, 20*hour, 20*hour, "")
	f(ends, 21*hour, 21*hour, after)
	f(ends, 40*hour, 21*hour, after)
	f(ends, 9*hour, 21*hour, "") // before anyone knew
	f(resumed, 29*hour, 21*hour, after)
	f(resumed, 31*hour, 21*hour, "")
	f(nil, 21*hour, 21*hour, "")
}
