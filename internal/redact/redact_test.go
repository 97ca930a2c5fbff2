package redact

import "testing"

func TestKeys(t *testing.T) {
	t.Parallel()
	f := func(name, text, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Keys(text); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		})
	}
	const key = "sk_live_4fQz8K_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGabcdef"
	const trial = "sk_prem_4fQz8K_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGabcdef"
	f("empty", "", "")
	f("no key", "H100 SXM", "H100 SXM")
	f("another prefix", "ask_about sk_other_1", "ask_about sk_other_1")
	f("a key", key, "sk_live_…")
	f("in a sentence", "Bearer "+key+", "+trial+"!", "Bearer sk_live_…, sk_prem_…!")
	f("a part of a key", key[:20], "sk_live_…")
	f("two keys in a row", key+key, "sk_live_…")
	f("a letter before", "x"+trial, "xsk_prem_…")
	const token = "shl_k3v7m2q9x4p8d2n5r7t1abcdef"
	const ingest = "sk_ingest_4fQz8K_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGabcdef"
	f("an ingest key", "Bearer "+ingest, "Bearer sk_ingest_…")
	f("a share link", "/s/"+token+".csv/..", "/s/shl_….csv/..")
	f("a part of a share link", token[:9], "shl_…")
	f("a key and a share link", key+" "+token, "sk_live_… shl_…")
}
