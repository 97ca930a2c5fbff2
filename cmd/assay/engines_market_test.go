package main

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// market fills a database with something of everything that the API shows, with a clock that the test moves.
type market struct {
	t         *testing.T
	db        *store.DB
	now       time.Time
	publisher *publish.Publisher
}

func newMarket(t *testing.T, db *store.DB) *market {
	t.Helper()
	m := &market{t: t, db: db}
	db.Now = m.clock
	m.publisher = &publish.Publisher{
		Store: db, Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Now: m.clock,
		Log: slog.New(slog.DiscardHandler),
	}
	return m
}

func (m *market) clock() time.Time { return m.now }

// at moves the clock.
func (m *market) at(instant string) *market {
	m.t.Helper()
	var err error
	m.now, err = time.Parse(time.RFC3339, instant)
	m.must(err)
	return m
}

func (m *market) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// importing imports a CSV file whose rows are all new.
func (m *market) importing(family, text string, revise bool) {
	m.t.Helper()
	catalog, err := m.db.Catalog(m.t.Context())
	m.must(err)
	importable, ok := ingest.FindFamily(family)
	if !ok {
		m.t.Fatalf("there is no family %s", family)
	}
	im := importable.New(ingest.Options{
		Store: m.db, Catalog: catalog, Source: "exchange", Revise: revise,
		NotAfter: func() int64 { return m.now.UnixMilli() },
		Rejected: func(r ingest.Reject) error { return fmt.Errorf("%s:%d: %s: %s", r.File, r.Line, r.Reason, r.Cells) },
	})
	m.must(im.File(m.t.Context(), family+".csv", strings.NewReader(text)))
	if c, rows := im.Counts(), strings.Count(text, "\n")-1; c.Inserted != rows {
		m.t.Fatalf("%s: of %d rows %+v were imported", family, rows, c)
	}
}

// marketStart is when the market begins: before the clocks of New York go back.
var marketStart = time.Date(2025, 10, 20, 0, 0, 0, 0, time.UTC)

// rentals are transactions up to the clock, of those from the given time on: four a day of two GPUs, and in the last
// days every half hour of all.
func (m *market) rentals(from time.Time) string {
	var b strings.Builder
	b.WriteString("id,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n")
	regions, providers := []string{"us-east", "", "eu-west"}, []string{"Alder", "Birch", "Cedar & Söhne", "daß"}
	dense := time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC)
	n := int(from.Sub(marketStart) / (30 * time.Minute))
	for at := from; at.Before(m.now); at = at.Add(30 * time.Minute) {
		gpus := assay.DefaultCatalog().GPUs
		if at.Before(dense) {
			if gpus = gpus[:2]; n%12 != 0 {
				gpus = nil
			}
		}
		for i, gpu := range gpus {
			k := n*7 + i*13
			executed := at.Add(time.Duration(k%1700) * time.Second).Format(time.RFC3339)
			fmt.Fprintf(&b, "r%d-%d,%s,%s,%s,%d.%03d,%d,0.25,%s,%t\n", n, i, executed,
				gpu.Name, regions[k%3], 1+i, k*37%1000, 1+k%8, providers[k%4], k%11 != 0)
		}
		n++
	}
	return b.String()
}

// days are the CSV rows that f gives for each day up to the clock.
func (m *market) days(header string, count int, f func(day string, i int) string) string {
	text := header + "\n"
	for i := range count {
		day := m.now.AddDate(0, 0, i-count)
		text += f(day.Format(time.DateOnly), i)
	}
	return text
}

// observations imports the families that are not transactions.
func (m *market) observations() {
	m.importing("memory", m.days("recorded_at,memory_type,price", 40, func(day string, i int) (rows string) {
		for k, kind := range assay.DefaultCatalog().MemoryTypes {
			rows += fmt.Sprintf("%sT10:00:00Z,%s,%d.%03d\n", day, kind.ID, 2+k, (i*71+k*29)%1000)
		}
		return rows
	}), false)
	m.importing("coding", m.days("date,tool,prs,merged,commits", 40, func(day string, i int) (rows string) {
		for k, tool := range []string{"cc", "codex", "copilot", "cursor", "devin"} {
			rows += fmt.Sprintf("%s,%s,%d,%d,%d\n", day, tool, 300+i*k, 200+i*k-k, 900+i)
		}
		return rows
	}), false)
	const modelColumns = "date,lab,model,family,requests,input_tokens,output_tokens,dollars,open_weight,free"
	models := []string{
		"anthropic,opus-5,opus", "anthropic,haiku-5,haiku", "openai,gpt-6,flagship", "google,flash-3,flash",
		"deepseek,v4,chat", "z-ai,glm-5,glm",
	}
	m.importing("models", m.days(modelColumns, 40, func(day string, i int) (rows string) {
		for k, model := range models {
			rows += fmt.Sprintf("%s,%s,%d,%d,%d,%d.%02d,%t,false\n",
				day, model, 1000+i*3+k, 4_000_000+i*1000, 900_000+k*7, 40+k, i, k > 3)
		}
		return rows
	}), false)
	const readingColumns = "recorded_at,gpu_name,region,rented_gpus,tracked_gpus"
	m.importing("utilization", m.days(readingColumns, 35, func(day string, i int) (rows string) {
		for hour := range 24 {
			rented := 40 + (i*5+hour)%50
			rows += fmt.Sprintf("%sT%02d:00:00Z,H200,us-east,%d,97\n", day, hour, rented)
			rows += fmt.Sprintf("%sT%02d:00:00Z,H100 SXM,,%d,101\n", day, hour, rented)
		}
		return rows
	}), false)
	m.importing("sites", marketSites, false)
}

const marketSites = `id,company,site_name,city,country,gpu_types,gpu_qty,power_capacity_mw,` +
	`chip_generation,category,key_customer,status,dc_tier,latitude,longitude,is_neocloud
osl-1,Fjordline Compute,Oslo 1,Oslo,Norway,8x H100 SXM5 / A100,4096,12.5,` +
	`Hopper,GPU cloud,,operational,Tier III,59.9139,10.7522,true
osl-2,Fjordline Compute,Oslo 2,Oslo,NO,GB200 NVL72,1152,3,Blackwell,GPU cloud,Nordlab,planned,Tier III,59.75,10.77,true
sup-1,Nordlab,Oslofjord,Drammen,Norge,MI300A,10000,20,` +
	`CDNA 3,AI supercomputer,,operational,Tier III,59.7439,10.2045,false
gru-1,Aço Compute,Centro 1,São Paulo,Brazil,H200,2048,6.25,` +
	`Hopper,GPU cloud,,operational,Tier III,-23.55052,-46.633308,true
suv-1,Reef,Suva East,Suva,Fiji,B200,64,0.5,Blackwell,GPU cloud,,operational,,-17,179.95,true
bar-1,Barge,Barge 7,,,H100,16,0.25,Hopper,GPU cloud,,operational,,0,0,true
`

// live runs the market up to the instant of the requests.
func (m *market) live() {
	m.t.Helper()
	ctx, from := m.t.Context(), marketStart.UnixMilli()
	backfill := func() {
		m.t.Helper()
		_, err := m.publisher.Backfill(ctx, from, m.now.Truncate(time.Hour).UnixMilli(), nil)
		m.must(err)
		m.must(m.publisher.Sign(ctx))
	}
	m.at("2026-02-01T12:00:00Z")
	m.must(m.db.AdoptMethodology(ctx, assay.MethodologyFile{
		Version: "1.1.0", Effective: time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC).UnixMilli(), Text: nextMethodology,
	}, 0))
	m.importing("transactions", m.rentals(marketStart), false)
	m.observations()
	backfill()

	// Late rows, a withdrawal and corrections, restated a day later.
	from2 := m.now
	m.at("2026-02-03T10:00:00Z")
	m.importing("transactions", "id,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"+
		"late-1,2026-01-29T10:15:00Z,H100 SXM,us-east,9.99,8,1,Alder,true\n"+
		"late-2,2026-01-30T10:15:00Z,H200,,0.5,8,2,Birch,true\n", false)
	_, err := m.db.AddVerifications(ctx, assay.Verification{
		Source: "exchange", ID: "r4896-0", Verified: false, Actor: "desk", Reason: "a forgery",
	})
	m.must(err)
	for _, gpu := range []string{"H100 SXM", "H200"} {
		done, err := m.publisher.Restate(ctx, publish.Restatement{
			GPU: gpu, From: from, To: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
			Reason: "late rows", Actor: "desk",
		})
		m.must(err)
		if done.Moved == 0 {
			m.t.Fatalf("no value of %s has changed: %+v", gpu, done)
		}
	}
	m.importing("memory", "recorded_at,memory_type,price\n2026-01-29T10:00:00Z,mem_ddr5_16gb,4\n", true)
	header, _, _ := strings.Cut(marketSites, "\n")
	m.importing("sites", header+"\nosl-2,Fjordline Compute,Oslo 2,Oslo,NO,GB200 NVL72,2304,6,"+
		"Blackwell,GPU cloud,Nordlab,operational,Tier III,59.75,10.77,true\n", true)

	m.at("2026-02-04T12:30:00Z")
	m.importing("transactions", m.rentals(from2), false)
	records, err := m.publisher.RecordValues(ctx)
	m.must(err)
	if records == 0 {
		m.t.Fatal("no value of another family is final")
	}
	backfill()
	for range 4 {
		m.now = m.now.Add(time.Minute)
		m.must(m.publisher.Realtime(ctx))
	}
	m.at("2026-02-04T12:34:56Z")
}

const nextMethodology = `version = "1.1.0"
effective = 2026-01-15T00:00:00Z
decimals = 3
[fixing]
zone = "America/New_York"
time = "16:00"
[minimum]
transactions = 1
providers = 1
[settlement]
after = "48h"
`

// readers are the callers beside the anonymous one, by name: the same keys for every database, and an account.
type readers struct {
	premium, full keys.Secret
}

// admit adds the callers to a database and returns the header of each.
func (r readers) admit(m *market, accounts *account.Service) map[string][2]string {
	m.t.Helper()
	ctx := m.t.Context()
	for _, secret := range []keys.Secret{r.premium, r.full} {
		tier := assay.Premium
		if secret == r.full {
			tier = assay.Full
		}
		_, err := m.db.CreateKey(ctx, store.Key{ID: secret.ID(), Hash: secret.Hash(), Tier: tier, Name: "reader"})
		m.must(err)
	}
	const email, password = "ann@example.com", "correct horse battery"
	_, err := accounts.AddAccount(ctx, email, "Ann", password, false)
	m.must(err)
	_, err = accounts.AddGrant(ctx, email, account.GrantRequest{Plan: assay.PlanPremium})
	m.must(err)
	in, err := accounts.SignIn(ctx, account.Client{}, email, password)
	m.must(err)
	return map[string][2]string{
		"anonymous": {},
		"premium":   {"Authorization", "Bearer " + r.premium.Reveal()},
		"full":      {"Authorization", "Bearer " + r.full.Reveal()},
		"account":   {"Cookie", "assay_session=" + in.Session.Reveal()},
	}
}
