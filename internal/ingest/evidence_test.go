package ingest

import (
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestEvidence_Stored(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		content, want := csvHeaderLine, []assay.Transaction(nil)
		for i, evidence := range []struct {
			class assay.Evidence
			by    string
		}{
			{assay.Unstated, ""},
			{assay.Invoice, "Audit desk"},
			{assay.Invoice, "Audit desk"},
			{assay.Unstated, ""},
			{assay.Invoice, "Birch"},
			{assay.Payment, "Birch"},
			{assay.Attestation, "Cedar"},
		} {
			row, transaction := with("id", string(rune('a'+i))), goodTransaction()
			row["evidence"], row["verified_by"] = evidence.class.Cell(), evidence.by
			transaction.ID, transaction.Evidence, transaction.VerifiedBy = row["id"], evidence.class, evidence.by
			content, want = content+csvLine(row), append(want, transaction)
		}
		importFile(t, db, "a.csv", content).want(t, len(want), 0, 0)
		importFile(t, db, "a.csv", content).want(t, 0, len(want), 0)
		if got := stored(t, db); !slices.Equal(got, want) {
			t.Errorf("stored is %+v, want %+v", got, want)
		}
		other := with("id", "a")
		other["evidence"], other["verified_by"] = "order", "Alder"
		importFile(t, db, "a.csv", csvHeaderLine+csvLine(other)).want(t, 0, 0, 1) // a changed row is set aside
	})
}

func TestEvidence_OfARowThatIsNotVerified(t *testing.T) {
	t.Parallel()
	row := with("verified", "false")
	row["evidence"], row["verified_by"] = "order", "Alder"
	out := importFile(t, storetest.Open(t), "a.csv", csvHeaderLine+csvLine(row))
	if out.want(t, 0, 0, 1); out.rejects[0].Reason != `evidence "order": the row is not verified` {
		t.Errorf("the reason is %q", out.rejects[0].Reason)
	}
}
