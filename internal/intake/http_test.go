package intake_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"golang.org/x/mod/sumdb/note"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/intake"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/verifier"
)

// rig is a server on a real connection that takes deliveries, and knows no market data.
type rig struct {
	t        testing.TB
	db       *store.DB
	keys     *keys.IngestKeys
	url      string
	key      string // of the source exchange, for transactions and memory
	keyID    string
	draining atomic.Bool
	signing  ed25519.PrivateKey // nil for none
}

func newRig(t testing.TB, db *store.DB, options ...func(*intake.Config)) *rig {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	r := &rig{t: t, db: db, keys: &keys.IngestKeys{Store: db, Log: log}}
	secret, key, err := keys.CreateIngest(t.Context(), db, "exchange", []string{"transactions", "memory"})
	r.must(err)
	r.key, r.keyID = secret.Reveal(), key.ID
	r.must(r.keys.Load(t.Context()))
	config := intake.Config{
		Keys: r.keys, Writes: true, Draining: r.draining.Load, Folder: t.TempDir(), Now: time.Now, Log: log,
		SigningKey: func(context.Context, *store.DB) (ed25519.PrivateKey, error) { return r.signing, nil },
	}
	for _, option := range options {
		option(&config)
	}
	service := intake.New(config)
	if config.Folder != "" {
		service.Open(db)
	}
	server, err := web.New(web.Config{
		Settings: web.Settings{KeyLimit: 1}, Now: time.Now, Log: log, Data: func() web.DataState { return web.DataState{} },
		Status: web.NewNodeStatus(web.StatusConfig{Role: web.NodePublish, Now: time.Now, Log: log}),
	}, service.Routes())
	r.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	r.url = "http://" + l.Addr().String()
	storetest.Run(t, func(ctx context.Context) error { return server.Serve(ctx, l) })
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// reply is a response, whether a result or an error.
type reply struct {
	status     int
	retryAfter string
	intake.Result
	Code    string `json:"code"`
	Message string `json:"message"`
}

const (
	ndjson      = "application/x-ndjson"
	parquetType = "application/vnd.apache.parquet"
)

// post sends a body of transactions.
func (r *rig) post(body io.Reader, contentType string, headers ...string) reply {
	r.t.Helper()
	return r.postTo("transactions", body, append([]string{"Content-Type", contentType}, headers...)...)
}

func (r *rig) postTo(target string, body io.Reader, headers ...string) (got reply) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+"/api/ingest/"+target, body)
	r.must(err)
	request.Header.Set("Authorization", "Bearer "+r.key)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	r.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	r.must(err)
	r.must(json.Unmarshal(text, &got))
	got.status, got.retryAfter = response.StatusCode, response.Header.Get("Retry-After")
	return got
}

// want checks the counts of a result.
func (r *rig) want(what string, got reply, stored, known, conflicting, rejected int) {
	r.t.Helper()
	if got.status != 200 || got.Stored != stored || got.Known != known || got.Conflicting != conflicting ||
		got.Rejected != rejected || got.Accepted != stored+known {
		r.t.Errorf("%s: %+v, want %d stored, %d known, %d conflicting, %d rejected",
			what, got, stored, known, conflicting, rejected)
	}
}

func (r *rig) wantError(what string, got reply, status int, code, message string) {
	r.t.Helper()
	if got.status != status || got.Code != code || !strings.Contains(got.Message, message) {
		r.t.Errorf("%s: %d %s %q, want %d %s …%s…", what, got.status, got.Code, got.Message, status, code, message)
	}
}

// row is a transaction of the source exchange, unless the source is another one.
func row(i int, source, price string) string {
	return fmt.Sprintf(`{"id":"t-%d","source":%q,"executed_at":"2026-01-%02dT%02d:%02d:%02dZ","gpu_name":"H100 SXM",`+
		`"price":%s,"gpus":2,"hours":1,"provider":"Birch","verified":true}`+"\n",
		i, source, 1+i/86400%28, i/3600%24, i/60%60, i%60, price)
}

func rows(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(row(i, "exchange", "2.4"))
	}
	return b.String()
}

func stored(t *testing.T, db *store.DB) (all []assay.Transaction) {
	t.Helper()
	received, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range received {
		x.Receipt = 0
		all = append(all, x)
	}
	return all
}

// What is posted is stored as assay import stores it, and each row is accounted for. The same rows again change
// nothing.
func TestPost_AsImport(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		body := rows(0, 50) + row(7, "exchange", "2.4") + row(8, "exchange", "3.1") + row(60, "other", "2.4") +
			"{\"id\":1\n" + row(61, "", "2.4") + row(62, "exchange", "0")
		r.want("the first time", r.post(strings.NewReader(body), ndjson), 51, 1, 1, 3)
		got := r.post(strings.NewReader(body), ndjson)
		r.want("again", got, 0, 52, 1, 3)
		var lines []int
		for _, reject := range got.Rejects {
			lines = append(lines, reject.Line)
			if reject.Reason == "" || reject.Conflict != (reject.Line == 52) {
				t.Errorf("rejected: %+v", reject)
			}
		}
		if slices.Sort(lines); !slices.Equal(lines, []int{52, 53, 54, 56}) {
			t.Errorf("the lines %v are rejected: %+v", lines, got.Rejects)
		}
		imported := storetest.Open(t)
		im := ingest.Transactions(ingest.Options{
			Store: imported, Catalog: assay.DefaultCatalog(), Source: "exchange",
			NotAfter: func() int64 { return time.Now().UnixMilli() },
		})
		r.must(im.File(t.Context(), "a.ndjson", strings.NewReader(strings.ReplaceAll(body, row(60, "other", "2.4"), ""))))
		if got, want := stored(t, db), stored(t, imported); len(want) != 51 || !slices.Equal(got, want) {
			t.Errorf("stored are %v, and by import %v", got, want)
		}
	})
}

func pack(t *testing.T, text string, w func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	z := w(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

func zstandard(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }

// parquetRow is a transaction in a file of Parquet.
type parquetRow struct {
	ID         string  `parquet:"id"`
	ExecutedAt string  `parquet:"executed_at"`
	GPU        string  `parquet:"gpu_name"`
	Price      float64 `parquet:"price"`
	GPUs       int64   `parquet:"gpus"`
	Hours      int64   `parquet:"hours"`
	Provider   string  `parquet:"provider"`
	Verified   bool    `parquet:"verified"`
}

const csvRows = "id,executed_at,gpu_name,price,gpus,hours,provider,verified\n" +
	"a,2026-01-02T09:15:00Z,H100 SXM,2.35,8,24,Alder,true\n" +
	"b,2026-01-02T09:40:00Z,H200,3.1,16,2,Birch,true\n"

func TestPost_Formats(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	var file bytes.Buffer
	r.must(parquet.Write(&file, []parquetRow{
		{"a", "2026-01-02T09:15:00Z", "H100 SXM", 2.35, 8, 24, "Alder", true},
		{"b", "2026-01-02T09:40:00Z", "H200", 3.1, 16, 2, "Birch", true},
	}))
	r.want("CSV", r.post(strings.NewReader(csvRows), "text/csv; charset=utf-8"), 2, 0, 0, 0)
	f := func(name, body, contentType string, headers ...string) {
		t.Helper()
		r.want(name, r.post(strings.NewReader(body), contentType, headers...), 0, 2, 0, 0)
	}
	f("gzip", pack(t, csvRows, gzipped), "text/csv", "Content-Encoding", "gzip")
	f("zstd", pack(t, csvRows, zstandard), "text/csv", "Content-Encoding", "zstd")
	f("Parquet", file.String(), parquetType)
	if all := stored(t, r.db); len(all) != 2 || all[0].Source != "exchange" {
		t.Errorf("stored are %+v", all)
	}
	r.want("no rows", r.post(strings.NewReader(""), ndjson), 0, 0, 0, 0)
}

// Another family: rows get the source of the key, and unsigned results say why.
func TestPost_Family(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	memory, _ := ingest.FindFamily("memory")
	var body bytes.Buffer
	cells := slices.Clone(memory.Example[0])
	cells[slices.Index(memory.Names(), "source")] = ""
	r.must(memory.WriteCSV(&body, memory.Names(), cells))
	got := r.postTo("memory", &body, "Content-Type", "text/csv")
	r.want("memory", got, 1, 0, 0, 0)
	if got.Receipt != nil || got.Unsigned == nil || !strings.Contains(*got.Unsigned, "no signing key") {
		t.Errorf("unsigned: %+v", got)
	}
}

// A receipt names the body, its rows and its rejected lines, and its signature can be checked with the log's key.
func TestPost_Receipt(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	r.signing = logtest.KeyOf("a")
	body := rows(0, 3) + "\n{}\n"
	got := r.post(strings.NewReader(body), ndjson)
	if r.want("a body", got, 3, 0, 0, 1); got.Receipt == nil {
		t.Fatalf("no receipt: %+v", got)
	}
	signing, err := r.db.SigningKeys(t.Context())
	r.must(err)
	vkey, err := note.NewEd25519VerifierKey(signing.Log(), r.signing.Public().(ed25519.PublicKey))
	r.must(err)
	log, err := verifier.NewLog(vkey)
	r.must(err)
	receipt, err := log.CheckReceipt(*got.Receipt)
	sum := sha256.Sum256([]byte(body))
	if err != nil || receipt.Accepted != 3 || !slices.Equal(receipt.RejectedLines, []int{5}) ||
		receipt.FileSHA256 != hex.EncodeToString(sum[:]) || got.SHA256 != receipt.FileSHA256 {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
}

func TestPost_DryRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	body := rows(0, 3) + row(9, "other", "1")
	got := r.postTo("transactions?dry_run=true", strings.NewReader(body), "Content-Type", ndjson)
	if got.status != 200 || !got.DryRun || got.Accepted != 3 || got.Stored != 0 || got.Rejected != 1 ||
		len(got.Batches) != 0 {
		t.Errorf("%+v", got)
	}
	r.wantError("misspelled", r.postTo("transactions?dryrun=true", strings.NewReader(rows(0, 3)), "Content-Type", ndjson),
		400, "unknown_parameter", "dry_run")
	if all := stored(t, r.db); len(all) != 0 {
		t.Errorf("stored are %+v", all)
	}
}

func TestPost_Refused(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	r := newRig(t, db)
	good := func() io.Reader { return strings.NewReader(rows(0, 1)) }
	api, _, err := keys.Create(t.Context(), db, assay.Full, "desk", 0)
	r.must(err)
	f := func(name string, got reply, status int, code, message string) {
		t.Helper()
		r.wantError(name, got, status, code, message)
	}
	f("no key", r.post(good(), ndjson, "Authorization", ""), 401, "key_required", "Ingest key")
	f("an API key", r.post(good(), ndjson, "Authorization", "Bearer "+api.Reveal()), 401, "invalid_key", "")
	mistyped := "Bearer " + r.key[:len(r.key)-1] + "-"
	f("a mistyped key", r.post(good(), ndjson, "Authorization", mistyped), 401, "invalid_key", "")
	f("no family", r.postTo("prices", good(), "Content-Type", ndjson), 404, "unknown_family", "transactions")
	f("not its family", r.postTo("utilization", good(), "Content-Type", ndjson), 403, "family_refused", "memory")
	f("no type", r.post(good(), ""), 400, "invalid_body", "Content-Type")
	f("a type", r.post(good(), "application/json"), 400, "invalid_body", "must be application/x-ndjson")
	f("a coding", r.post(good(), ndjson, "Content-Encoding", "br"), 400, "invalid_body", "gzip or zstd")
	f("Parquet", r.post(good(), parquetType, "Content-Encoding", "gzip"), 400, "invalid_body", "Parquet")
	f("dry_run", r.postTo("transactions?dry_run=yes", good(), "Content-Type", ndjson), 400, "invalid_parameter", "")
	r.must(db.RevokeIngestKey(t.Context(), r.keyID))
	r.must(r.keys.Load(t.Context()))
	f("a revoked key", r.post(good(), ndjson), 401, "inactive_key", "")
	if all := stored(t, db); len(all) != 0 {
		t.Errorf("stored are %+v", all)
	}
	reads := newRig(t, db, func(c *intake.Config) { c.Writes = false })
	f("a node that reads", reads.post(good(), ndjson), 503, "read_only_node", "publishes")
	starts := newRig(t, db, func(c *intake.Config) { c.Folder = "" })
	f("a node that starts", starts.post(good(), ndjson), 503, "unavailable", "starting")
	drains := newRig(t, db)
	drains.draining.Store(true)
	f("a node that drains", drains.post(good(), ndjson), 503, "unavailable", "shutting down")
}

// Guessing keys is limited as other requests without a key are.
func TestPost_Guessing(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	for range 60 {
		r.wantError("a guess", r.post(http.NoBody, ndjson, "Authorization", "Bearer x"), 401, "invalid_key", "")
	}
	r.wantError("one more", r.post(http.NoBody, ndjson, "Authorization", "Bearer x"), 429, "rate_limited", "")
	r.want("the key itself", r.post(strings.NewReader(rows(0, 1)), ndjson), 1, 0, 0, 0)
}

func TestPost_Hostile(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	packed := pack(t, rows(0, 5000), gzipped)
	damaged := packed[:len(packed)-6] + "damage"
	r.wantError("no gzip", r.post(strings.NewReader(rows(0, 3)), ndjson, "Content-Encoding", "gzip"),
		400, "invalid_body", "gzip")
	r.wantError("half a gzip", r.post(strings.NewReader(packed[:len(packed)/2]), ndjson, "Content-Encoding", "gzip"),
		400, "invalid_body", "incomplete; ")
	r.wantError("a damaged gzip", r.post(strings.NewReader(damaged), ndjson, "Content-Encoding", "gzip"),
		400, "invalid_body", "5000 rows before that are stored")
	r.want("NUL bytes", r.post(strings.NewReader(rows(0, 1)+"\x00\x00\n"+strings.Repeat("\x00", 100_000)+"\n"), ndjson),
		0, 1, 0, 2)
	long := io.MultiReader(
		strings.NewReader(rows(0, 1)), io.LimitReader(endless{}, 8<<20), strings.NewReader("\n"+rows(1, 2)))
	r.want("an endless line", r.post(long, ndjson), 0, 2, 0, 1)
	r.wantError("no header", r.post(strings.NewReader("1,2,3\n"), "text/csv"), 400, "invalid_body", "header must name id, source")
	r.wantError("no Parquet", r.post(strings.NewReader("PAR1PAR1"), parquetType), 400, "invalid_body", "")
	var many strings.Builder
	for i := range 1100 {
		many.WriteString(row(i, "other", "1"))
	}
	got := r.post(strings.NewReader(many.String()), ndjson)
	if got.Rejected != 1100 || len(got.Rejects) != 1000 || got.RejectsLeftOut != 100 {
		t.Errorf("%d rejected, %d listed, %d left out", got.Rejected, len(got.Rejects), got.RejectsLeftOut)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

// A claimed length means nothing: a body that ends early is refused, and what came of it counts.
func TestPost_ClaimedLength(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	claim := func(contentType, body string) (status int, text string) {
		t.Helper()
		nc, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		r.must(err)
		defer nc.Close()
		fmt.Fprintf(nc, "POST /api/ingest/transactions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: %s\r\nContent-Length: 10000000000\r\n\r\n%s", r.key, contentType, body)
		r.must(nc.(*net.TCPConn).CloseWrite())
		response, err := http.ReadResponse(bufio.NewReader(nc), nil)
		r.must(err)
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		r.must(err)
		return response.StatusCode, string(content)
	}
	status, text := claim(ndjson, rows(0, 3)+"{\"id\":\"cut")
	if status != 400 || !strings.Contains(text, "it is incomplete; 3 rows before that are stored") {
		t.Errorf("NDJSON: %d %s", status, text)
	}
	if status, text = claim(parquetType, ""); status != 413 || !strings.Contains(text, "body_too_large") {
		t.Errorf("Parquet: %d %s", status, text)
	}
	r.want("sent again", r.post(strings.NewReader(rows(0, 4)), ndjson), 1, 3, 0, 0)
}

// batch is how many rows the first batch of a body has.
const batch = 20_000

// held is a body of which one batch is stored while the rest has not arrived.
type held struct {
	*io.PipeWriter
	reply chan reply
}

func (r *rig) hold(from int) *held {
	r.t.Helper()
	before := r.batches()
	in, out := io.Pipe()
	h := &held{out, make(chan reply, 1)}
	go func() { h.reply <- r.post(in, ndjson) }()
	_, err := io.WriteString(out, rows(from, from+batch+1))
	r.must(err)
	storetest.Eventually(r.t, "a batch is stored", func() bool { return r.batches() > before })
	return h
}

// batches is how many batches were stored.
func (r *rig) batches() int64 {
	r.t.Helper()
	counters, err := r.db.Counters(r.t.Context())
	r.must(err)
	return counters.Receipt
}

// A key that is revoked ends the body that is being sent with it: what comes after is not stored.
func TestPost_RevokedMeanwhile(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		h := r.hold(0)
		r.must(db.RevokeIngestKey(t.Context(), r.keyID))
		r.must(r.keys.Load(t.Context()))
		go func() { _, _ = io.WriteString(h, rows(batch+1, batch+100)) }() // fails when the server closes
		r.wantError("revoked", <-h.reply, 401, "inactive_key", "")
		if all := stored(t, db); len(all) != batch {
			t.Errorf("%d rows are stored, want those of the first batch, %d", len(all), batch)
		}
	})
}

// Few bodies are stored at a time. One more gets the time to come back, and gets in when another has ended.
func TestPost_Busy(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	first, second := r.hold(0), r.hold(batch+1)
	got := r.post(strings.NewReader(rows(0, 1)), ndjson)
	if r.wantError("a third", got, 503, "busy", "Too many"); got.retryAfter == "" {
		t.Error("the response does not say when to try again")
	}
	r.must(first.Close())
	r.want("the first", <-first.reply, batch+1, 0, 0, 0)
	r.want("a third again", r.post(strings.NewReader(rows(0, 1)), ndjson), 0, 1, 0, 0)
	r.must(second.Close())
	r.want("the second", <-second.reply, batch+1, 0, 0, 0)
}

// A sender whose connection breaks sends the whole body again: no row is missing, none is there twice.
func TestPost_CutConnection(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		nc, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		r.must(err)
		part := rows(0, batch+500) + row(batch+500, "exchange", "2.4")[:40]
		fmt.Fprintf(nc, "POST /api/ingest/transactions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", r.key, ndjson, len(part), part)
		storetest.Eventually(t, "a batch is stored", func() bool { return r.batches() > 0 })
		r.must(nc.Close())
		got := r.post(strings.NewReader(rows(0, batch+1000)), ndjson)
		if got.status != 200 || got.Known < batch || got.Accepted != batch+1000 {
			t.Errorf("sent again: %+v", got)
		}
		if all := stored(t, db); len(all) != batch+1000 {
			t.Errorf("%d rows are stored, want %d", len(all), batch+1000)
		}
	})
}

// Each transaction of the database is listed with the last line that it has stored.
func TestPost_Batches(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.Open(t))
	got := r.post(strings.NewReader(rows(0, batch)+row(0, "exchange", "9")+rows(batch, batch+10)), ndjson)
	want := []intake.Batch{
		{ToLine: batch, Stored: batch, Receipt: 1},
		{ToLine: batch + 11, Stored: 10, Conflicting: 1, Receipt: 2},
	}
	if !slices.Equal(got.Batches, want) {
		t.Errorf("the batches are %+v, want %+v", got.Batches, want)
	}
}
