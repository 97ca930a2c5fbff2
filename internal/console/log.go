package console

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/verifier"
)

// Log is the log in the database.
type Log interface {
	LastCheckpoint(ctx context.Context) (proof.SignedCheckpoint, error)
	LogKey(ctx context.Context) (string, error)
	KeyEvents(ctx context.Context) (string, error)
	Anchors(ctx context.Context, after int64, most int) ([]proof.AnchoredCheckpoint, error)
	LogResource(ctx context.Context, r merkle.Resource) ([]byte, error)
	ProveRecord(ctx context.Context, hash assay.Hash, by int64) (p proof.Inclusion, ok bool, err error)
	ProveRecordSoon(ctx context.Context, hash assay.Hash) (p proof.Inclusion, ok bool, err error)
	ProveConsistency(ctx context.Context, from, to int64) (hashes []assay.Hash, signed int64, err error)
}

const logPath = "/log/"

// LogRoutes serve the log to anyone, as C2SP's tlog-tiles describes, and proofs about it. A mirror reads all of it, so
// reading the log has no rate limit; instead, few requests at a time read the database.
func (c *Console) LogRoutes() web.Group {
	route := func(path string, limit web.LimitClass, serve handler) web.Route {
		return web.Route{Method: http.MethodGet, Path: path, Limit: limit, Rule: access.Public, Serve: serve}
	}
	return web.Group{Routes: []web.Route{
		route(logPath+"checkpoint", web.Unlimited, c.logCheckpoint),
		route(logPath+"vkey", web.Unlimited, c.logKey),
		route(logPath+"keys", web.Unlimited, c.logKeys),
		route(logPath+"anchors", web.Unlimited, c.logAnchors),
		route(logPath+"tile/{path...}", web.Unlimited, c.logTile),
		route("/api/log/inclusion", web.PerAddress, c.logInclusion),
		route("/api/log/consistency", web.PerAddress, c.logConsistency),
	}}
}

const (
	logReads     = 2               // at a time, of tiles and of proofs
	logPatience  = 5 * time.Second // how long a request waits for its turn, and for the database
	logTileBytes = 16 << 20        // of tiles in memory
	logAnchors   = 30              // in a response: those of a month, some 200 KB
)

// logReader bounds what reading the log costs.
type logReader struct {
	readingTiles  chan struct{} // has an entry for each request that reads one
	readingProofs chan struct{} // likewise; apart, because tiles have no rate limit
	tiles         *cache.Cache[merkle.Resource, *web.Body]
}

func newLogReader() logReader {
	limits := cache.Limits[*web.Body]{Entries: 4096, Bytes: logTileBytes, Size: (*web.Body).Size}
	return logReader{
		readingTiles: make(chan struct{}, logReads), readingProofs: make(chan struct{}, logReads),
		tiles: cache.New[merkle.Resource](limits),
	}
}

var errLogBusy = &assay.Error{
	Kind: assay.Unavailable, Code: "busy", RetryAfter: logPatience,
	Message: fmt.Sprintf("Too many requests for the log and its proofs are waiting. Retry in %d seconds.",
		web.Seconds(logPatience)),
}

// turn waits until few others read the same.
func turn(ctx context.Context, reading chan struct{}) (done func(), err error) {
	select {
	case reading <- struct{}{}:
		return func() { <-reading }, nil
	case <-ctx.Done():
		return nil, errLogBusy
	}
}

// readLog calls read when few others read the same.
func (c *Console) readLog(
	ctx context.Context, r *web.Request, reading chan struct{}, read func(context.Context, Log) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	done, err := turn(ctx, reading)
	if err != nil {
		return err
	}
	defer done()
	err = read(ctx, c.Log())
	if _, known := errors.AsType[*assay.Error](err); err == nil || known {
		return err
	}
	r.LogCause(fmt.Errorf("read the log: %w", err))
	return &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable", RetryAfter: logPatience,
		Message: "The log cannot be read at the moment. Try again later.",
	}
}

func noData(format string, args ...any) error {
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: fmt.Sprintf(format, args...)}
}

var errNoCheckpoint = noData("No checkpoint of the log has been signed yet.")

var (
	plainText = "text/plain; charset=utf-8"
	binary    = "application/octet-stream"
)

// logCheckpoint serves the last checkpoint.
func (c *Console) logCheckpoint(r *web.Request) (web.Response, error) {
	var last proof.SignedCheckpoint
	err := c.readLog(r.Context(), r, c.log.readingTiles, func(ctx context.Context, log Log) (err error) {
		if last, err = log.LastCheckpoint(ctx); err == nil && last.Size == 0 {
			err = errNoCheckpoint
		}
		return err
	})
	return web.Once([]byte(last.Note), last.SignedAt).As(plainText), err
}

// logKey serves the key that checks checkpoints.
func (c *Console) logKey(r *web.Request) (web.Response, error) {
	key, err := c.logText(r, Log.LogKey)
	return web.Once([]byte(key+"\n"), 0).As(plainText), err
}

// logKeys serves how that key has changed.
func (c *Console) logKeys(r *web.Request) (web.Response, error) {
	events, err := c.logText(r, Log.KeyEvents)
	return web.Once([]byte(events), 0).As(plainText), err
}

// logText reads a text of the log, which is empty as long as nothing is signed.
func (c *Console) logText(
	r *web.Request, read func(Log, context.Context) (string, error),
) (text string, err error) {
	err = c.readLog(r.Context(), r, c.log.readingTiles, func(ctx context.Context, log Log) (err error) {
		if text, err = read(log, ctx); err == nil && text == "" {
			err = errNoCheckpoint
		}
		return err
	})
	return text, err
}

// logAnchor is a line of a response with anchors.
type logAnchor struct {
	Size       int64  `json:"size"`
	Checkpoint string `json:"checkpoint"`
	Timestamp  string `json:"timestamp"`
	Authority  string `json:"authority"`
	Token      []byte `json:"token"`
}

// logAnchors serves timestamps of checkpoints.
func (c *Console) logAnchors(r *web.Request) (web.Response, error) {
	after, err := r.Int("after", 0, 0, maxLogSize)
	if err != nil {
		return web.Response{}, err
	}
	var list []proof.AnchoredCheckpoint
	err = c.readLog(r.Context(), r, c.log.readingTiles, func(ctx context.Context, log Log) (err error) {
		if list, err = log.Anchors(ctx, int64(after), logAnchors); err == nil && len(list) == 0 {
			err = noData("No checkpoint of more than %d entries of the log has a timestamp.", after)
		}
		return err
	})
	if err != nil {
		return web.Response{}, err
	}
	var lines []byte
	for _, a := range list {
		line, err := json.Marshal(logAnchor{a.Size, a.Text, assay.FormatInstant(a.StampedAt), a.Authority, a.Token})
		if err != nil {
			return web.Response{}, err
		}
		lines = append(append(lines, line...), '\n')
	}
	return web.Once(lines, list[len(list)-1].StampedAt).As(plainText), nil
}

// logTile serves a tile of hashes or a bundle of entries. Only what is signed is served, so it never changes.
func (c *Console) logTile(r *web.Request) (web.Response, error) {
	path := "tile/" + r.PathValue("path")
	resource, err := merkle.ParsePath(path)
	if err != nil {
		return web.Response{}, noData("The log has no %q: %v.", web.Shown(path), err)
	}
	shared := context.WithoutCancel(r.Context()) // others may wait for the tile when this client hangs up
	body, err := c.log.tiles.Try(resource, func() (body *web.Body, err error) {
		err = c.readLog(shared, r, c.log.readingTiles, func(ctx context.Context, log Log) error {
			data, err := log.LogResource(ctx, resource)
			switch {
			case err != nil:
				return err
			case data == nil:
				return noData("The log has no %q yet: its last checkpoint signs fewer entries.", path)
			case resource.Entries:
				body = web.NewBody(data, 0)
			default: // hashes do not get smaller
				body = web.NewPlainBody(data)
			}
			return nil
		})
		return body, err
	})
	return web.Ready(body).As(binary).Immutable(), err
}

// logInclusion proves that a record is in the log.
func (c *Console) logInclusion(r *web.Request) (web.Response, error) {
	text, err := r.Param("record")
	if err != nil {
		return web.Response{}, err
	}
	const form = "the hash of a record: 64 hexadecimal digits in lower case"
	raw, err := hex.DecodeString(text)
	switch {
	case text == "":
		return web.Response{}, web.Missing("record", form)
	case err != nil || len(raw) != len(assay.Hash{}) || text != strings.ToLower(text):
		return web.Response{}, web.Invalid("record", text, form)
	}
	var p proof.Inclusion
	err = c.readLog(r.Context(), r, c.log.readingProofs, func(ctx context.Context, log Log) error {
		found, ok, err := log.ProveRecordSoon(ctx, assay.Hash(raw))
		if p = found; err == nil && !ok {
			err = noData("The log that the last checkpoint signs has no record with the hash %s.", text)
		}
		return err
	})
	if err != nil {
		return web.Response{}, err
	}
	return logProof(newInclusion(&p))
}

func newInclusion(p *proof.Inclusion) *verifier.Inclusion {
	return &verifier.Inclusion{
		LeafIndex: p.Leaf, Entry: string(p.Entry), Hashes: proof.HashTexts(p.Hashes), TreeSize: p.Checkpoint.Size,
		Checkpoint: p.Checkpoint.Note,
	}
}

// logConsistency proves that the log of one size begins with that of a smaller one.
func (c *Console) logConsistency(r *web.Request) (web.Response, error) {
	to, err := requiredSize(r, "to", maxLogSize)
	if err != nil {
		return web.Response{}, err
	}
	from, err := requiredSize(r, "from", to)
	if err != nil {
		return web.Response{}, err
	}
	var hashes []assay.Hash
	err = c.readLog(r.Context(), r, c.log.readingProofs, func(ctx context.Context, log Log) error {
		found, signed, err := log.ProveConsistency(ctx, int64(from), int64(to))
		if hashes = found; err == nil && int64(to) > signed {
			err = noData("The last checkpoint of the log signs %d entries, not %d.", signed, to)
		}
		return err
	})
	if err != nil {
		return web.Response{}, err
	}
	return logProof(struct {
		From   int      `json:"from"`
		To     int      `json:"to"`
		Hashes []string `json:"hashes"`
	}{from, to, proof.HashTexts(hashes)})
}

// maxLogSize is the largest number of entries that a parameter may have: JSON has no larger integers.
const maxLogSize = 1 << 53

// requiredSize returns a parameter that is a number of entries.
func requiredSize(r *web.Request, name string, highest int) (int, error) {
	size, err := r.Int(name, 0, 1, highest)
	if err == nil && size == 0 {
		err = web.Missing(name, fmt.Sprintf("an integer from 1 to %d", highest))
	}
	return size, err
}

func logProof(data any) (web.Response, error) {
	return web.Object(struct {
		Success bool `json:"success"`
		Data    any  `json:"data"`
	}{true, data}, 0)
}
