package intake

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tracing"
)

// delivery is what is delivered, and by whom.
type delivery struct {
	family ingest.Family
	source string // of all rows
	name   string // decides the format, and is the name in messages and receipts
	dryRun bool
	admit  func() error // whether it may continue
	stored func()       // called after each batch

	refused func(ingest.Reject) // called for each row that is not stored; nil: the result is enough
}

// Result says what became of the rows of a delivery. A row is known if it was stored before, with the same content;
// with another content it conflicts, and the first one stays.
type Result struct {
	Family      string `json:"family"`
	Source      string `json:"source"`
	DryRun      bool   `json:"dry_run"`
	SHA256      string `json:"sha256"`   // of the bytes as they were sent
	Accepted    int    `json:"accepted"` // those stored and known or, of a dry run, those that pass all checks
	Stored      int    `json:"stored"`
	Known       int    `json:"known"`
	Conflicting int    `json:"conflicting"`
	Rejected    int    `json:"rejected"`

	Batches        []Batch  `json:"batches"`
	BatchesLeftOut int      `json:"batches_left_out"`
	Rejects        []Reject `json:"rejects"`
	RejectsLeftOut int      `json:"rejects_left_out"`

	Receipt  *string `json:"receipt"`  // the text of a verifier.Receipt; null if there is none
	Unsigned *string `json:"unsigned"` // why there is none
}

// Batch is what one transaction of the database has done.
type Batch struct {
	ToLine      int   `json:"to_line"` // the last line; of Parquet, row
	Stored      int   `json:"stored"`
	Known       int   `json:"known"`
	Conflicting int   `json:"conflicting"`
	Receipt     int64 `json:"receipt"` // under which transactions were stored; 0 for none, and in other families
}

// Reject is a row that was not stored, and why.
type Reject struct {
	Line     int    `json:"line"`
	Reason   string `json:"reason"`
	Conflict bool   `json:"conflict"`
}

// How many batches and rejected rows a result lists.
const (
	listedBatches = 1000
	listedRejects = 1000
)

// batchRows is how many rows a batch has at most: fewer than in an import, because several deliveries have theirs in
// memory at the same time.
const batchRows = 50_000

// run is a delivery in progress.
type run struct {
	delivery
	result   *Result
	importer ingest.AnyImporter
	last     ingest.Counts // at the commit before
	conflict int           // rows in conflict since then
	lines    rejectedLines
}

// take stores a delivery. The result says what was stored, also if there is an error.
func (s *Service) take(ctx context.Context, db *store.DB, d delivery, content io.Reader) (r *run, err error) {
	ctx, end := tracing.Work(ctx, "import "+d.family.Name)
	defer func() { end(err) }()
	r = &run{delivery: d, result: &Result{
		Family: d.family.Name, Source: d.source, DryRun: d.dryRun, Batches: []Batch{}, Rejects: []Reject{},
	}}
	catalog, err := db.Catalog(ctx)
	if err != nil {
		return r, err
	}
	r.importer = d.family.New(ingest.Options{
		Store: db, Catalog: catalog, Source: d.source, OnlySource: d.source != "", CheckOnly: d.dryRun, MostRows: batchRows,
		NotAfter: func() int64 { return s.Now().Add(ingest.FutureAllowance).UnixMilli() },
		Admit:    d.admit, Rejected: r.rejected, Committed: r.committed,
	})
	err = r.importer.File(ctx, d.name, content)
	counts := r.importer.Counts()
	r.result.Accepted = counts.Inserted + counts.Duplicates
	if !d.dryRun {
		r.result.Stored, r.result.Known = counts.Inserted, counts.Duplicates
	}
	return r, err
}

// rejected notes a row that is not stored.
func (r *run) rejected(reject ingest.Reject) error {
	if reject.Conflict {
		r.result.Conflicting++
		r.conflict++
	} else {
		r.result.Rejected++
	}
	r.lines.add(reject.Line)
	if r.refused != nil {
		r.refused(reject)
	}
	if len(r.result.Rejects) == listedRejects {
		r.result.RejectsLeftOut++
		return nil
	}
	r.result.Rejects = append(r.result.Rejects, Reject{reject.Line, reject.Reason, reject.Conflict})
	return nil
}

// committed notes a batch that is stored.
func (r *run) committed(counts ingest.Counts) {
	if r.stored != nil {
		r.stored()
	}
	if r.dryRun {
		return
	}
	batch := Batch{
		ToLine: r.importer.CommittedLine(), Stored: counts.Inserted - r.last.Inserted,
		Known: counts.Duplicates - r.last.Duplicates, Conflicting: r.conflict,
	}
	if batch.Stored > 0 {
		batch.Receipt = r.importer.FileReceipts().Last
	}
	r.last, r.conflict = counts, 0
	if len(r.result.Batches) == listedBatches {
		r.result.BatchesLeftOut++
		return
	}
	r.result.Batches = append(r.result.Batches, batch)
}

// finish lets the log list the delivery, and signs for it.
func (s *Service) finish(ctx context.Context, db *store.DB, r *run, sum assay.Hash) error {
	r.result.SHA256 = hex.EncodeToString(sum[:])
	if r.dryRun {
		r.unsigned("nothing is stored in a dry run")
		return nil
	}
	if r.result.Accepted == 0 {
		r.unsigned("no row was accepted")
		return nil
	}
	listed, err := Record(ctx, db, r.family.Name, r.name, sum, r.importer, ingest.Counts{})
	if err != nil {
		return err
	}
	switch key, err := s.SigningKey(ctx, db); {
	case err != nil:
		s.Log.Error("a receipt cannot be signed", "error", err)
		r.unsigned("the signing key of this server cannot be used")
	case key == nil:
		r.unsigned("this server has no signing key")
	case r.lines.tooMany:
		r.unsigned("more rows are rejected than a receipt can name")
	default:
		log, err := db.SigningKeys(ctx)
		if err != nil {
			return err
		}
		receipt := NewReceipt(log.Log(), &listed, r.lines.list)
		text, err := receipt.Sign(key)
		if err != nil {
			return err
		}
		r.result.Receipt = &text
	}
	return nil
}

func (r *run) unsigned(why string) { r.result.Unsigned = &why }
