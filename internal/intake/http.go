package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/web"
)

// Path is where bodies are posted.
const Path = "/api/ingest/{family}"

// Routes are those for sources, which post.
func (s *Service) Routes() web.Group {
	return web.Group{Posts: true, Routes: []web.Route{{
		Method: http.MethodPost, Path: Path, Limit: web.Unlimited, Rule: access.Public, Serve: s.serve, WithoutData: true,
	}}}
}

// retryElsewhere is when a sender may try again who came while this node started or ended.
const retryElsewhere = 5 * time.Second

var (
	errReadOnly = &assay.Error{
		Kind: assay.Unavailable, Code: "read_only_node",
		Message: "This node only reads. Send the body to one that publishes.",
	}
	errStarting = &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable", RetryAfter: retryElsewhere,
		Message: "This node is starting. Try again later.",
	}
	errDraining = &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable", RetryAfter: retryElsewhere,
		Message: "This node is shutting down. Send the whole body again; rows that are stored are known then.",
	}
	errDatabase = &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable", RetryAfter: retryElsewhere,
		Message: "The rows cannot be stored at the moment. Send the whole body again; rows that are stored are known then.",
	}
	errKeyRequired = &assay.Error{
		Kind: assay.Unauthorized, Code: "key_required",
		Message: "Ingest key required. Use Authorization: Bearer YOUR_INGEST_KEY",
	}
)

// serve stores one body.
func (s *Service) serve(r *web.Request) (web.Response, error) {
	db := s.db.Load()
	switch {
	case !s.Writes:
		return web.Response{}, errReadOnly
	case db == nil:
		return web.Response{}, errStarting
	}
	key, err := s.identify(r)
	if err != nil {
		return web.Response{}, err
	}
	d := delivery{source: key.Source, admit: func() error {
		if s.Draining() {
			return errDraining
		}
		return s.Keys.Check(key)
	}}
	if err := d.read(r, key); err != nil {
		return web.Response{}, err
	}
	leave, err := s.enter(key.ID)
	if err != nil {
		return web.Response{}, err
	}
	defer leave()
	result, err := s.store(r, db, d, "ingest-key:"+key.ID)
	if err != nil {
		return web.Response{}, err
	}
	return web.NoStore(http.StatusOK, result)
}

// identify returns the key of a request. Requests without a good one count under the public limit.
func (s *Service) identify(r *web.Request) (key store.IngestKey, err error) {
	text, ok := r.Bearer()
	if err = errKeyRequired; ok {
		key, err = s.Keys.Lookup(text)
	}
	if err != nil {
		if over := r.CountPublic(1); over != nil {
			return key, over
		}
	}
	return key, err
}

// extensions are what files of the types are called.
var extensions = map[string]string{
	"application/x-ndjson": ".ndjson", "application/ndjson": ".ndjson", "application/jsonl": ".ndjson",
	"text/csv": ".csv", "application/vnd.apache.parquet": ".parquet",
}

// read reads what a request says of its body.
func (d *delivery) read(r *web.Request, key store.IngestKey) error {
	name, ok := r.PathValue("family"), false
	if d.family, ok = ingest.FindFamily(name); !ok {
		return &assay.Error{
			Kind: assay.NotFound, Code: "unknown_family", Param: "family", Allowed: familyNames(),
			Message: fmt.Sprintf("There is no family %q: must be %s.", web.Shown(name), web.JoinWords(familyNames(), "or")),
		}
	}
	if !slices.Contains(key.Families, name) {
		return &assay.Error{
			Kind: assay.Forbidden, Code: "family_refused", Param: "family", Allowed: key.Families,
			Message: fmt.Sprintf("Your key may not send %s, only %s.", name, web.JoinWords(key.Families, "and")),
		}
	}
	for name := range r.Query() { // a misspelled dry_run must not store anything
		if name != "dry_run" {
			return &assay.Error{
				Kind: assay.Invalid, Code: "unknown_parameter", Param: web.Shown(name), Allowed: []string{"dry_run"},
				Message: fmt.Sprintf("Unknown parameter %q: this path takes dry_run.", web.Shown(name)),
			}
		}
	}
	dry, err := r.OneOf("dry_run", "false", "true", "false")
	if err != nil {
		return err
	}
	d.dryRun = dry == "true"
	extension := extensions[r.MediaType()]
	if extension == "" {
		return web.InvalidBody("the Content-Type is %q, must be application/x-ndjson, text/csv or "+
			"application/vnd.apache.parquet", web.Shown(r.MediaType()))
	}
	switch coding := r.Coding(); {
	case coding == "":
	case coding == "gzip" && extension != parquet:
		extension += ".gz"
	case coding == "zstd" && extension != parquet:
		extension += ".zst"
	case extension == parquet:
		return web.InvalidBody("the Content-Encoding is %q, must be none for Parquet", web.Shown(coding))
	default:
		return web.InvalidBody("the Content-Encoding is %q, must be gzip or zstd", web.Shown(coding))
	}
	d.name = d.source + extension
	return nil
}

const parquet = ".parquet"

func familyNames() []string {
	names := make([]string, len(ingest.Families))
	for i, f := range ingest.Families {
		names[i] = f.Name
	}
	return names
}

// store stores the body of a request. What was received whole is stored even if the sender does not wait for the
// response.
func (s *Service) store(r *web.Request, db *store.DB, d delivery, actor string) (*Result, error) {
	ctx := s.Traces.With(store.WithActor(context.WithoutCancel(r.Context()), actor))
	body := r.Upload()
	defer body.Close()
	d.stored = body.KeepOpen // a whole file of Parquet is stored after the last byte has arrived
	content := io.Reader(&admittedReader{body, d.admit})
	if ingest.Format(d.name) == "parquet" {
		file, err := s.spool(content, body.Length())
		if err != nil {
			return nil, bodyError(r, err, 0)
		}
		defer file.Close()
		content = file
	}
	taken, err := s.take(ctx, db, d, content)
	if err != nil {
		return nil, bodyError(r, err, taken.result.Stored+taken.result.Known)
	}
	if err := s.finish(ctx, db, taken, body.Sum()); err != nil {
		return nil, bodyError(r, err, 0)
	}
	return taken.result, nil
}

// admittedReader ends a body that is no longer admitted.
type admittedReader struct {
	io.Reader
	admit func() error
}

func (a *admittedReader) Read(p []byte) (int, error) {
	if err := a.admit(); err != nil {
		return 0, err
	}
	return a.Reader.Read(p)
}

// bodyError says why a body was not stored to its end. A failure of ours is for the log.
func bodyError(r *web.Request, err error, stored int) error {
	if known, ok := errors.AsType[*assay.Error](err); ok {
		return known
	}
	reason := ""
	_, unreadable := errors.AsType[ingest.FileError](err)
	switch {
	case errors.Is(err, web.ErrTooSlow):
		reason = web.ErrTooSlow.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason = "it is incomplete"
	case unreadable:
		reason = err.Error()
	default:
		r.LogCause(err)
		return errDatabase
	}
	if stored > 0 {
		reason += fmt.Sprintf("; %d rows before that are stored: send the whole body again, they are known then", stored)
	}
	return web.InvalidBody("%s", reason)
}

// mostParquet is how long a body of Parquet may be: it must be on a disk to be read, because it is read from its end.
const mostParquet = 4 << 30

var errParquetTooLarge = &assay.Error{
	Kind: assay.TooLarge, Code: "body_too_large",
	Message: fmt.Sprintf("A body of Parquet may have %d bytes. Send several, or NDJSON or CSV.", int64(mostParquet)),
}

// spool puts a body on a disk. The file has no name, so it ends with the process.
func (s *Service) spool(content io.Reader, length int64) (file *os.File, err error) {
	if length > mostParquet {
		return nil, errParquetTooLarge
	}
	file, err = os.CreateTemp(s.Folder, ".ingest-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	source := &notingReader{Reader: io.LimitReader(content, mostParquet+1)}
	n, err := io.Copy(file, source)
	switch {
	case source.err != nil:
		return nil, ingest.FileError{Err: source.err} // the sender's, not the disk's
	case err != nil:
		return nil, err
	case n > mostParquet:
		return nil, errParquetTooLarge
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, err
}

// notingReader notes why reading has failed.
type notingReader struct {
	io.Reader
	err error
}

func (n *notingReader) Read(p []byte) (int, error) {
	read, err := n.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return read, err
}
