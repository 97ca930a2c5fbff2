package verify

import (
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// A record must not be older than its delay allows, and its delay must be the methodology's.
func TestCompare_Delay(t *testing.T) {
	t.Parallel()
	f := func(recorded int, publishedAfter int64, want string) {
		t.Helper()
		computed := assay.Determination{At: assay.Hour, DelaySeconds: 5, PublishedAt: assay.Hour + publishedAfter}
		r := store.Record{Determination: computed}
		r.DelaySeconds = recorded
		r.Hash = proof.Record(&r.Determination)
		err := compare(publish.SlotOf(&r.Determination), &computed, &r, 0)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a delay of %d s, published after %d ms: %v, want %q", recorded, publishedAfter, err, want)
		}
	}
	f(5, 5000, "")
	f(5, 4999, "it was published at 1970-01-01T01:00:04.999Z, before its delay of 5 s had passed")
	f(4, 5000, "a delay of 4 s instead of 5 s")
}
