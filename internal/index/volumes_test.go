package index

import (
	"testing"

	"github.com/assaydata/assay"
)

func TestVolumes(t *testing.T) {
	t.Parallel()
	row := func(source string, evidence assay.Evidence, gpus int64, verified bool) assay.Transaction {
		return assay.Transaction{
			Source: source, Evidence: evidence, GPUs: gpus, HourMicros: 500_000, Price: assay.One, Provider: "Acme",
			Verified: verified,
		}
	}
	var c Calculator
	c.Load([]assay.Transaction{
		row("small", assay.Payment, 3, true), row("large", assay.Unstated, 9, true), row("large", assay.Judgement, 1, true),
		row("gone", assay.Invoice, 50, false), row("same", assay.Payment, 3, true),
	})
	f := func(want string, rows ...int32) {
		t.Helper()
		if d, _ := c.Compute(rows, Plain()); d.Volumes != want {
			t.Errorf("got %s, want %s", d.Volumes, want)
		}
	}
	f(`{"by_source":[5,1.5,1.5],"by_evidence":{"unstated":4.5,"payment":3,"judgement":0.5}}`, 0, 1, 2, 3, 4)
	f(`{"by_source":[1.5],"by_evidence":{"payment":1.5}}`, 0) // nothing of the slot before is left
	f(noVolumes, 3)
	f(`{"by_source":[5],"by_evidence":{"unstated":4.5,"judgement":0.5}}`, 2, 1)
}

func TestStatesEvidence(t *testing.T) {
	t.Parallel()
	f := func(byEvidence string, want bool) {
		t.Helper()
		if volumes := `{"by_source":[1,2],"by_evidence":{` + byEvidence + `}}`; StatesEvidence(volumes) != want {
			t.Errorf("%s states evidence: %t", volumes, !want)
		}
	}
	f(``, false)
	f(`"unstated":3`, false)
	f(`"unstated":2,"judgement":1`, true)
	f(`"payment":3`, true)
	if StatesEvidence("") {
		t.Error("no volumes state evidence")
	}
}
