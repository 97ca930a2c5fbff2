package proof

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

// A record can be parsed with a value and without; any other form of the text is rejected.
func TestParseRecord(t *testing.T) {
	t.Parallel()
	f := func(d assay.Determination) {
		t.Helper()
		Seal(&d, assay.Hash{1})
		text := AppendJSON(nil, &d)
		got, err := ParseRecord(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("parsed (-written +parsed):\n%s", diff)
		}
		for _, other := range []string{
			" " + string(text),
			strings.Replace(string(text), `"hhi"`, `"HHI"`, 1),
			strings.Replace(string(text), `,"hhi"`, `, "hhi"`, 1),
		} {
			if _, err := ParseRecord([]byte(other)); err == nil {
				t.Errorf("%s: not rejected", other)
			}
		}
	}
	whole := assay.Determination{
		Line: assay.Line{GPU: "H100 SXM", Region: assay.Global}, Grain: assay.Daily, At: 86_400_000,
		Methodology: "1.0.0", Receipt: 7, PublishedAt: 86_400_001,
		HasValue: true, Value: 2_350_000_000, Low: 1, High: 3_000_000_000, Median: 2_000_000_000,
		Transactions: 3, HourMicros: 1_500_000, Providers: 2, HHI: 5_001,
		Excluded: assay.Exclusions{Unverified: 1, Withdrawn: 2},
		Adjusted: assay.Adjustments{Winsorized: 1, Capped: 1}, Inputs: assay.Hash{9},
	}
	f(whole)
	f(assay.Determination{
		Line: whole.Line, Grain: assay.Hourly, At: whole.At, From: 1, Revision: 1, Methodology: "1.0.0",
		Excluded: assay.Exclusions{Withdrawn: 1},
	})
}

func TestParseManifest(t *testing.T) {
	t.Parallel()
	m := assay.Manifest{
		Day: 86_400_000, Revision: 2, Records: 3, Digest: assay.Hash{1}, SignedAt: 172_800_001, Previous: assay.Hash{2},
		PublicKey: bytes.Repeat([]byte{3}, 32), Signature: bytes.Repeat([]byte{4}, 64),
	}
	m.Hash = Manifest(&m)
	text := AppendManifestJSON(nil, &m)
	got, err := ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("parsed (-written +parsed):\n%s", diff)
	}
	if _, err := ParseManifest(append(text, ' ')); err == nil {
		t.Error("a space at the end: not rejected")
	}
}
