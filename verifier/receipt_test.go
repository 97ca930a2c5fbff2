package verifier_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/verifier"
)

func TestCheckReceipt(t *testing.T) {
	t.Parallel()
	l := logtest.New(t, keyLog)
	log := mustLog(t, l.Key)
	made := verifier.Receipt{
		Log: keyLog, Import: 3, File: "trades.csv", FileSHA256: strings.Repeat("0a", 32), Accepted: 5,
		RejectedLines: []int{4}, ReceivedAt: "2026-02-03T21:00:00.000Z", InCheckpointBy: "2026-02-03T22:00:00.000Z",
	}
	text, err := made.Sign(logtest.KeyOf(keyLog))
	if err != nil {
		t.Fatal(err)
	}
	got, err := log.CheckReceipt(text)
	if err != nil || got.Import != 3 || got.Accepted != 5 || len(got.RejectedLines) != 1 {
		t.Fatalf("the receipt is %+v, %v", got, err)
	}
	f := func(what, text string, want error) {
		t.Helper()
		if _, err := log.CheckReceipt(text); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	f("another count", strings.Replace(text, `"accepted":5`, `"accepted":6`, 1), verifier.ErrNotSigned)
	f("more at the end", strings.TrimSuffix(text, "}")+`,"note":"x"}`, nil)
	f("no receipt", `{"type":"key"}`, nil)
	stranger, err := made.Sign(logtest.KeyOf("b"))
	if err != nil {
		t.Fatal(err)
	}
	f("another key", stranger, verifier.ErrNotSigned)
	made.Log = "assay/other"
	other, err := made.Sign(logtest.KeyOf(keyLog))
	if err != nil {
		t.Fatal(err)
	}
	f("another log", other, nil)
}
