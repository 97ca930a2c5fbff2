package verify

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/anchortest"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// The market of the tests is in March 2026. New York changes its clocks on the 8th: days end at 21:00 UTC before, and
// at 20:00 after.
func instant(day, hour int) int64 {
	return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC).UnixMilli()
}

var (
	marketStart = instant(4, 21)
	adoption    = instant(8, 0) // when the second methodology takes effect
	marketEnd   = instant(10, 9)
)

// marketKey signs the manifests.
var marketKey = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two bytes, fixed"[:ed25519.SeedSize]))

// secondMethodology rounds to other decimals, requires three providers or, for a day, two, winsorizes and caps shares.
const secondMethodology = `# The second version.
version   = "1.1.0"
effective = 2026-03-08T00:00:00Z
decimals  = 3
[fixing]
zone = "America/New_York"
time = "16:00"
[minimum]
transactions = 2
providers    = 3
[[fallback]]
name         = "thin"
transactions = 2
providers    = 2
[winsorise]
lower = 5
upper = 95
[cap]
provider_share = 60
[settlement]
after = "24h"
`

// rentals are the rentals in [from, to): H100s three times an hour, H200s every second hour, a B200 now and then.
func rentals(from, to int64) (all []assay.Transaction) {
	providers := []string{"Alder", "Birch", "Cedar, Inc."}
	add := func(gpu string, at int64, n int64) {
		t := assay.Transaction{
			Source: []string{"exchange", "desk"}[n%2], ID: fmt.Sprintf("%s-%d", gpu, n), ExecutedAt: at, GPU: gpu,
			Region: []string{"us-east", "eu-west", ""}[n%3],
			Price:  2*assay.One + assay.Nanos(n*7919%1000)*1_000_000, GPUs: 1 + n%8, HourMicros: 250_000 + n%4*1_000_000,
			Provider: providers[n*5%3], Verified: n%11 != 0,
		}
		classes := []assay.Evidence{assay.Unstated, assay.Invoice, assay.Invoice, assay.Payment, assay.Metering}
		if class := classes[n%5]; t.Verified && class != assay.Unstated {
			t.Evidence, t.VerifiedBy = class, "Audit desk"
		}
		all = append(all, t)
	}
	for hour := from; hour < to; hour += assay.Hour {
		n := hour / assay.Hour
		for i := range int64(3) {
			add("H100 SXM", hour+i*13*assay.Minute, 3*n+i)
		}
		if n%2 == 0 {
			add("H200", hour+7*assay.Minute, n)
		}
		if n%17 == 3 {
			add("B200", hour+31*assay.Minute, n)
		}
	}
	return all
}

// marketBuilder makes the market step by step, with its clock.
type marketBuilder struct {
	ctx       context.Context
	db        *store.DB
	publisher *publish.Publisher
	clock     int64
	err       error
}

func (b *marketBuilder) now() time.Time { return time.UnixMilli(b.clock) }

func publisherOf(b *marketBuilder) *publish.Publisher {
	return &publish.Publisher{Store: b.db, Key: marketKey, Now: b.now, Log: slog.New(slog.DiscardHandler)}
}

// do runs a step a minute later than the one before, unless one has failed.
func (b *marketBuilder) do(step func() error) {
	b.clock += assay.Minute
	if b.err == nil {
		b.err = step()
	}
}

func (b *marketBuilder) receive(batch ...assay.Transaction) {
	b.do(func() error {
		_, err := b.db.AppendTransactions(b.ctx, batch)
		return err
	})
}

// verify verifies a transaction, or withdraws it.
func (b *marketBuilder) verify(t assay.Transaction, verified bool) {
	b.do(func() error {
		v := assay.Verification{
			Source: t.Source, ID: t.ID, Verified: verified, Actor: "auditor", Reason: "looked at the invoice",
		}
		if verified {
			v.Evidence = assay.Judgement
		}
		_, err := b.db.AddVerifications(b.ctx, v)
		return err
	})
}

// correct replaces a transaction by a corrected one.
func (b *marketBuilder) correct(t assay.Transaction, change func(*assay.Transaction)) {
	b.do(func() error {
		change(&t)
		_, err := b.db.CorrectTransactions(b.ctx, []assay.Transaction{t}, store.Justification{
			Actor: "desk", Reason: "wrong invoice",
		})
		return err
	})
}

func (b *marketBuilder) restate(gpu string, from, to int64) {
	b.do(func() error {
		done, err := b.publisher.Restate(b.ctx, publish.Restatement{
			GPU: gpu, From: from, To: to, Reason: "late invoices", Actor: "editor",
		})
		if err == nil && done.Slots == 0 {
			err = fmt.Errorf("nothing of %s was restated", gpu)
		}
		return err
	})
}

// anchor lets an authority stamp the last checkpoint, at once.
func (b *marketBuilder) anchor() {
	if b.err != nil {
		return
	}
	var last proof.SignedCheckpoint
	if last, b.err = b.db.LastCheckpoint(b.ctx); b.err == nil {
		b.err = b.db.AddAnchor(b.ctx, anchorOf(&last, b.clock))
	}
}

// marketAuthority stamps the checkpoints.
var marketAuthority = sync.OnceValue(func() *anchortest.Authority { return anchortest.New() })

// anchorOf is the anchor of a checkpoint that the authority stamps at an instant.
func anchorOf(c *proof.SignedCheckpoint, at int64) proof.Anchor {
	at -= at % 1000 // its clock shows seconds
	stamp := marketAuthority().Stamp(c.Text())
	stamp.Time = time.UnixMilli(at).UTC()
	return proof.Anchor{
		Size: c.Size, StampedAt: at, Authority: "http://authority.example/tsr", Token: marketAuthority().Token(stamp),
	}
}

func (b *marketBuilder) sign() { b.do(func() error { return b.publisher.Sign(b.ctx) }) }

// publish publishes the slots that have ended by the instant.
func (b *marketBuilder) publish(at int64) {
	b.clock = at
	b.do(func() error {
		_, err := b.publisher.Backfill(b.ctx, marketStart, at, nil)
		return err
	})
}

// late is a rental that arrives late.
func late(gpu string, at, n int64) assay.Transaction {
	return assay.Transaction{
		Source: "desk", ID: fmt.Sprintf("late-%d", n), ExecutedAt: at + n, GPU: gpu, Region: "eu-west",
		Price: 3 * assay.One, GPUs: 4, HourMicros: 2_000_000, Provider: "Dogwood", Verified: true,
	}
}

// first is the first rental of a GPU from an instant on that is verified, or that is not.
func first(gpu string, from int64, verified bool) assay.Transaction {
	for _, t := range rentals(from, from+20*assay.Hour) {
		if t.GPU == gpu && t.Verified == verified {
			return t
		}
	}
	panic("the market has no such rental")
}

// build makes a market with every feature: two methodologies, late rows, withdrawals, verifications, two restatements
// of the same time, a withdrawn value, late rows that wait, and an unsigned day.
func (b *marketBuilder) build() {
	plain := index.Plain()
	b.do(func() error {
		return b.db.AdoptMethodology(b.ctx, assay.MethodologyFile{
			Version: plain.Version, Effective: plain.Effective, Text: index.PlainText(),
		}, 0)
	})
	b.receive(rentals(marketStart, instant(6, 12))...)
	b.receive(rentals(instant(6, 12), instant(7, 21))...)
	b.publish(instant(7, 22))
	b.sign()
	b.anchor()
	b.do(func() error {
		return b.db.AdoptMethodology(b.ctx, assay.MethodologyFile{
			Version: "1.1.0", Effective: adoption, Text: secondMethodology,
		}, 0)
	})
	b.receive(rentals(instant(7, 21), marketEnd)...)
	b.verify(first("H100 SXM", instant(8, 3), true), false) // before its hour is published
	b.correct(first("H100 SXM", instant(8, 5), true), func(t *assay.Transaction) { t.Price *= 2 })
	b.publish(instant(9, 2))
	b.publish(marketEnd)
	b.sign()
	b.anchor()
	b.receive(late("H100 SXM", instant(6, 3), 1), late("H200", instant(6, 3), 2))
	b.verify(first("H100 SXM", instant(5, 5), true), false)
	b.verify(first("H100 SXM", instant(5, 5), false), true)
	b.restate("H100 SXM", instant(5, 0), instant(8, 21))
	b.sign()
	b.receive(late("H100 SXM", instant(6, 3), 3))
	b.verify(first("H100 SXM", instant(5, 5), true), true) // verified again
	b.verify(first("B200", instant(5, 0), true), false)    // the only one of its hour
	b.correct(first("H100 SXM", instant(6, 8), true), func(t *assay.Transaction) { t.Price /= 2 })
	b.correct(first("H100 SXM", instant(6, 9), true), func(t *assay.Transaction) { t.ExecutedAt += 2 * assay.Hour })
	b.correct(first("H100 SXM", instant(6, 10), true), func(t *assay.Transaction) { t.GPU = "B200" })
	b.verify(first("H100 SXM", instant(6, 8), true), false)                                    // the correction
	b.correct(first("H100 SXM", instant(6, 8), true), func(t *assay.Transaction) { t.GPUs++ }) // and again
	b.restate("H100 SXM", instant(5, 0), instant(9, 20))
	b.restate("B200", instant(4, 0), instant(9, 20))
	b.sign()
	b.receive(late("H200", instant(9, 3), 4))
	b.verify(first("H200", instant(9, 0), true), false)
	b.restate("H200", instant(8, 20), instant(9, 20)) // not signed
	b.receive(late("H100 SXM", instant(9, 3), 5))     // not restated
	b.verify(first("H100 SXM", instant(9, 5), true), false)
	b.correct(first("H100 SXM", instant(9, 6), true), func(t *assay.Transaction) { t.Provider = "Elm" }) // not restated
	b.families()
	b.others()
}

// families adds days of a coding tool that become final, of which one is restated, and later gone.
func (b *marketBuilder) families() {
	observe := func(days ...assay.CodingDay) {
		var list []store.Observation
		for _, d := range days {
			key, body, err := coding.Family.EncodeRow(coding.Family.Row(d))
			b.err = errors.Join(b.err, err)
			list = append(list, store.Observation{Key: key, Body: body})
		}
		b.do(func() error {
			_, err := b.db.AppendObservations(b.ctx, assay.FamilyCoding, list, true)
			return err
		})
	}
	record := func() {
		b.do(func() error {
			_, err := b.publisher.RecordValues(b.ctx)
			return err
		})
	}
	restate := func() {
		b.do(func() error {
			_, err := b.db.AddRestatement(b.ctx, assay.Restatement{
				Family: assay.FamilyCoding, From: instant(8, 0), To: instant(9, 0), Reason: "late", Actor: "editor",
			})
			return err
		})
		record()
	}
	day := func(n int, prs int64) assay.CodingDay {
		return assay.CodingDay{Day: instant(n, 0), Tool: "aider", PRs: prs, Merged: 3, Commits: 8}
	}
	observe(day(8, 10), day(9, 11))
	b.clock += assay.Day
	record()
	observe(day(8, 12))
	record() // it is late
	restate()
	observe(day(10, 20))
	b.clock += 2 * assay.Day
	record()
	late := day(8, 0) // there is no merge rate
	late.Merged = 0
	observe(late)
	restate()
	b.utilization(record)
}

// utilization adds a day of utilization that becomes final, and a late revision of a reading that is restated.
func (b *marketBuilder) utilization(record func()) {
	read := func(at, rented int64) {
		b.do(func() error {
			_, err := b.db.AppendUtilization(b.ctx, []assay.UtilizationReading{
				{Source: "desk", At: at, GPU: "H200", Region: "us-east", Rented: rented, Tracked: 8},
			}, true)
			return err
		})
	}
	at := instant(15, 0)
	b.clock = at
	read(at, 2)
	b.clock = instant(16, 0)
	read(b.clock, 4)
	b.clock = instant(17, 1)
	record()
	read(at, 6)
	record() // it is late
	b.do(func() error {
		_, err := b.db.AddRestatement(b.ctx, assay.Restatement{
			Family: assay.FamilyUtilization, From: at, To: at + 1, Reason: "late", Actor: "editor",
		})
		return err
	})
	record()
}

// others adds what is no GPU value: conflicts, the other families, utilization, prints, and hidden entries.
func (b *marketBuilder) others() {
	for n := range int64(2) {
		conflict := first("H200", instant(9, int(n)), true)
		conflict.Price += assay.Nanos(n) + 1
		b.receive(conflict)
		b.do(func() error {
			_, err := b.db.AppendUtilization(b.ctx, []assay.UtilizationReading{
				{Source: "desk", At: b.clock, GPU: "H200", Region: "us-east", Rented: 5, Tracked: 9},
				{Source: "desk", At: b.clock, GPU: "B200", Rented: n, Tracked: 9},
			}, true)
			return err
		})
		for family := range assay.NumFamilies {
			b.do(func() error {
				_, err := b.db.AppendObservations(b.ctx, family, []store.Observation{
					{Key: "a", Body: fmt.Appendf(nil, `{"n":%d}`, n)}, {Key: fmt.Sprint("b", n), Body: []byte(`{}`)},
				}, true)
				return err
			})
		}
		b.do(func() error {
			_, err := b.db.ReceiveComplaint(b.ctx, "a reader", fmt.Sprint("question ", n))
			return err
		})
		b.do(func() error { return b.db.AnswerComplaint(b.ctx, 1, fmt.Sprint("answer ", n)) })
		b.do(func() error {
			_, err := b.db.AddRestatement(b.ctx, assay.Restatement{
				Family: assay.FamilyModels, From: int64(n), To: b.clock, Reason: "late", Actor: "editor",
			})
			return err
		})
		b.do(func() error {
			_, err := b.db.AddImport(b.ctx, proof.Import{Family: "transactions", File: fmt.Sprint("rows", n, ".csv"), Rows: 3})
			return err
		})
		b.do(func() error {
			line := assay.Line{GPU: "H200", Region: assay.Global}
			return b.db.AppendRealtime(b.ctx, []store.LinePrint{
				{Line: line, RealtimePrint: assay.RealtimePrint{At: b.clock, Value: 2 * assay.One, Transactions: 3, HourMicros: 7}},
				{Line: line, RealtimePrint: assay.RealtimePrint{At: b.clock + 1, Value: 3 * assay.One}},
			}, b.clock+1)
		})
		b.do(func() error {
			return b.db.Hide(b.ctx, assay.CatalogEntry{Kind: "gpu", Name: []string{"A100 SXM4", "RTX 5090"}[n]})
		})
	}
}

// marketFile makes the market once; it is the content of the database's file.
var marketFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "assay-verify")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &marketBuilder{ctx: context.Background(), clock: marketStart}
	if b.db, err = store.Create(b.ctx, "sqlite://"+dir); err != nil {
		return nil, err
	}
	if err := fixLog(b.ctx, filepath.Join(dir, store.FileName)); err != nil {
		return nil, err
	}
	b.db.Now = b.now
	b.publisher = publisherOf(b)
	b.build()
	if err := b.db.Close(); err != nil {
		return nil, err
	}
	if b.err != nil {
		return nil, b.err
	}
	return os.ReadFile(filepath.Join(dir, store.FileName))
})

// fixLog gives a new database a log that is the same in every run: without a name, a salt and a start of its own.
func fixLog(ctx context.Context, file string) error {
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = raw.ExecContext(ctx, `UPDATE settings SET value = 'assay/market' WHERE name = 'log_origin';
		UPDATE settings SET value = $1 WHERE name = 'log_salt';
		UPDATE log_tail SET entry = $2 WHERE leaf = 0`, strings.Repeat("00", proof.SaltSize),
		proof.AppendStart(nil, marketStart, 0))
	return errors.Join(err, raw.Close())
}

// marketIn writes the market's database into a folder.
func marketIn(t *testing.T, dir string) {
	t.Helper()
	file, err := marketFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, store.FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// openMarket opens a copy of the market.
func openMarket(t *testing.T) *store.DB {
	t.Helper()
	dir := t.TempDir()
	marketIn(t, dir)
	return storetest.OpenIn(t, dir)
}
