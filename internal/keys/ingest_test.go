package keys_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestIngestKeys(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ring := &keys.IngestKeys{Store: db, Log: slog.New(slog.DiscardHandler)}
		load := func() {
			t.Helper()
			if err := ring.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		load()
		secret, created, err := keys.CreateIngest(t.Context(), db, "exchange", []string{"transactions", "memory"})
		if err != nil {
			t.Fatal(err)
		}
		text := secret.Reveal()
		if !strings.HasPrefix(text, "sk_ingest_"+created.ID+"_") || secret.ID() != created.ID {
			t.Errorf("the key %s has the id %s", text, created.ID)
		}
		if shown := fmt.Sprintf("%v %+v %#v", secret, secret, secret); strings.Contains(shown, text[len("sk_ingest_")+7:]) {
			t.Errorf("the key shows as %s", shown)
		}
		f := func(what, text, code string) {
			t.Helper()
			key, err := ring.Lookup(text)
			if code != "" {
				if err == nil || assay.AsError(err).Code != code {
					t.Errorf("%s: %v, want %s", what, err, code)
				}
				return
			}
			if err != nil || key.Source != "exchange" || fmt.Sprint(key.Families) != "[transactions memory]" {
				t.Errorf("%s: %+v, %v", what, key, err)
			}
		}
		f("before it is loaded", text, "invalid_key")
		load()
		f("the key", text, "")
		f("one character more", text+"x", "invalid_key")
		f("mistyped", text[:20]+"-"+text[21:], "invalid_key")
		f("an API key", keys.Mint(assay.Full).Reveal(), "invalid_key")
		if list, _, err := db.IngestKeys(t.Context()); err != nil || len(list) != 1 || list[0].Hash != secret.Hash() {
			t.Errorf("stored are %+v, %v", list, err)
		}
		for range 2 { // the second time changes nothing
			if err := db.RevokeIngestKey(t.Context(), created.ID); err != nil {
				t.Fatal(err)
			}
		}
		load()
		f("revoked", text, "inactive_key")
		if err := ring.Check(created); err == nil {
			t.Error("a revoked key that was looked up before is still good")
		}
		if err := db.RevokeIngestKey(t.Context(), "nosuch"); err == nil {
			t.Error("a key that does not exist was revoked")
		}
		entries, err := db.AuditLog(t.Context(), store.AuditFilter{Subject: "ingest-key:" + created.ID})
		if err != nil || len(entries) != 2 {
			t.Errorf("the audit log has %+v, %v", entries, err)
		}
	})
}
