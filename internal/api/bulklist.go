package api

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/bulk"
	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/web"
)

// bulkSource is what the rows of a dataset come from.
type bulkSource interface {
	// history finds the revisions of its months.
	history(a *API, snap *snapshot.Snapshot) *bulk.History
	// complete reports whether all that is due of the time before an instant is there.
	complete(snap *snapshot.Snapshot, end int64) bool
	// write writes the rows of a month that were known at a moment, in an order that depends on their names alone.
	write(a *API, snap *snapshot.Snapshot, moment int64, w *bulkWriter) error
	// key identifies all that history and write follow from, and basis what the rows follow from that were known at an
	// instant.
	key(a *API, snap *snapshot.Snapshot) bulkKey
	basis(a *API, snap *snapshot.Snapshot, knownAt int64) bulkKey
}

// bulkKey identifies what rows follow from. A source uses some of the fields.
type bulkKey struct {
	version  int64
	history  uint64 // of the publications
	catalog  int64
	schedule scheduleKey
	count    int   // of observations
	restated int   // how often
	arrived  int64 // when the newest reading was received
}

// bulkWriter writes the file of a month, and notes what is in it.
type bulkWriter struct {
	month    bulk.Month
	file     *table.File
	rows     int
	from, to int64
}

// count notes a row.
func (w *bulkWriter) count(at int64) {
	if w.rows == 0 {
		w.from, w.to = at, at
	}
	w.rows++
	w.from, w.to = min(w.from, at), max(w.to, at)
}

// bulkFiles knows the files that can be downloaded.
type bulkFiles struct {
	api   *API
	shelf *bulk.Shelf
	rows  *cache.Cache[bulkRowsKey, []bulkRow] // of families
	lists [numBulkDatasets]bulkListing         // in the order of the datasets

	writing sync.Mutex // held while a list is made: one at a time, so that readers keep the processors
}

// bulkListing is the list of the files of a dataset. It is made when it is first requested, and again when it is
// requested after something has changed: a node that no one asks for files does no work for them. To know the hash of a
// file it has to be written once, so the list of a large market takes seconds; meanwhile the one before is served.
type bulkListing struct {
	dataset *bulkDataset

	mu     sync.Mutex
	newest *bulkList     // nil before the first; guarded by mu
	making chan struct{} // closed when the next list is made; nil if none is being made; guarded by mu

	// For the goroutine that makes lists: the files of the last one, and those of the next one so far. A month without
	// rows has nil.
	known, used map[bulkFileKey]*bulk.Revision
}

// bulkRowsKey identifies the rows of all months of a family as known at a moment.
type bulkRowsKey struct {
	name   string
	moment int64
	basis  bulkKey
}

// bulkFileKey identifies a file before its hash is known.
type bulkFileKey struct {
	month   bulk.Month
	knownAt int64
	basis   bulkKey
}

// Rows of families are many bytes: they are kept while the files of a list are made or downloaded.
const (
	maxBulkRows     = 8
	maxBulkRowBytes = 64 << 20
)

func newBulkFiles(a *API) *bulkFiles {
	files := &bulkFiles{
		api: a, shelf: bulk.NewShelf(),
		rows: cache.New[bulkRowsKey](cache.Limits[[]bulkRow]{
			Entries: maxBulkRows, Bytes: maxBulkRowBytes, Size: func(rows []bulkRow) (bytes int) {
				for i := range rows {
					bytes += len(rows[i].text) + sizeOf[bulkRow](1)
				}
				return bytes
			},
		}),
	}
	for i, d := range bulkDatasets {
		files.lists[i].dataset = d
	}
	return files
}

// listing is the list of a dataset.
func (b *bulkFiles) listing(d *bulkDataset) *bulkListing {
	return &b.lists[slices.Index(bulkDatasets[:], d)]
}

// bulkList is the files of a dataset at a moment.
type bulkList struct {
	key    bulkListKey
	files  []*bulk.Revision // by month and revision
	byName map[string]*bulk.Revision
}

// bulkListKey identifies what a list follows from: the data, the catalog, and the day, because months become complete.
type bulkListKey struct {
	day, catalog int64
	data         bulkKey
}

func (b *bulkFiles) keyOf(d *bulkDataset, snap *snapshot.Snapshot, moment int64) bulkListKey {
	return bulkListKey{assay.StartOfDay(moment), snap.CatalogVersion, d.source.key(b.api, snap)}
}

var errBulkBusy = &assay.Error{
	Kind: assay.Unavailable, Code: "busy", RetryAfter: maxPastWait,
	Message: fmt.Sprintf("The list of bulk files is being made. Retry in %d seconds.", web.Seconds(maxPastWait)),
}

// maxFirstWait is how long a request waits for the first list of a node, when there is no earlier one.
const maxFirstWait = 20 * time.Second

// list returns the files of datasets. If they are not known yet, it waits a little for them, and then returns the files
// that were known before.
func (b *bulkFiles) list(
	ctx context.Context, snap *snapshot.Snapshot, moment int64, datasets []*bulkDataset,
) (files []*bulk.Revision, err error) {
	var making []<-chan struct{}
	wait := maxPastWait
	for _, d := range datasets {
		made, first := b.start(d, snap, moment)
		making = append(making, made)
		if first {
			wait = maxFirstWait
		}
	}
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	for _, made := range making {
		select {
		case <-made:
		case <-ctx.Done():
		}
	}
	for _, d := range datasets {
		known := b.listing(d).current(snap)
		if known == nil {
			return nil, errBulkBusy
		}
		files = append(files, known.files...)
	}
	return files, nil
}

// start starts to make the list of a dataset, unless it is there or being made. It returns a channel that is closed
// when there is nothing to wait for, and whether this is the first list.
func (b *bulkFiles) start(d *bulkDataset, snap *snapshot.Snapshot, moment int64) (made <-chan struct{}, first bool) {
	l, key := b.listing(d), b.keyOf(d, snap, moment)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest != nil && l.newest.key == key {
		return closed, false
	}
	if l.making == nil {
		l.making = make(chan struct{})
		go b.make(l, snap, moment, key)
	}
	return l.making, l.newest == nil
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// current is the newest list, unless the catalog has changed since: what a catalog hides must not be shown.
func (l *bulkListing) current(snap *snapshot.Snapshot) *bulkList {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest == nil || l.newest.key.catalog != snap.CatalogVersion {
		return nil
	}
	return l.newest
}

// find returns a file by its name, or nil. A file that was listed needs no newer list.
func (b *bulkFiles) find(
	ctx context.Context, snap *snapshot.Snapshot, moment int64, d *bulkDataset, name string,
) (*bulk.Revision, error) {
	if newest := b.listing(d).current(snap); newest != nil && newest.byName[name] != nil {
		return newest.byName[name], nil
	}
	if _, err := b.list(ctx, snap, moment, []*bulkDataset{d}); err != nil {
		return nil, err
	}
	newest := b.listing(d).current(snap)
	if newest == nil {
		return nil, errBulkBusy // a list for a newer catalog has just replaced it
	}
	return newest.byName[name], nil
}

// make makes the next list of a dataset.
func (b *bulkFiles) make(l *bulkListing, snap *snapshot.Snapshot, moment int64, key bulkListKey) {
	b.writing.Lock()
	defer b.writing.Unlock()
	next := &bulkList{key: key, byName: map[string]*bulk.Revision{}}
	l.used = map[bulkFileKey]*bulk.Revision{}
	next.files = b.revisions(l, snap, moment)
	for _, r := range next.files {
		next.byName[r.Name()] = r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest, l.known, l.used = next, l.used, nil
	close(l.making)
	l.making = nil
}

// maxBulkRevisions is how many revisions of a month are listed: the newest ones.
const maxBulkRevisions = 50

// revisions lists the files of a dataset. A change that left all rows of a month as they were makes no revision.
func (b *bulkFiles) revisions(l *bulkListing, snap *snapshot.Snapshot, moment int64) (files []*bulk.Revision) {
	d := l.dataset
	history := d.source.history(b.api, snap)
	for _, month := range history.Months() {
		if !d.source.complete(snap, month.Ends()) {
			continue
		}
		instants := history.Instants(month, moment)
		var last *bulk.Revision
		for n, at := range instants {
			if n < len(instants)-maxBulkRevisions {
				continue
			}
			r := b.measured(l, snap, month, at, n == len(instants)-1)
			if r == nil || last != nil && r.Hash == last.Hash {
				continue
			}
			r.Number, r.Current = n, false
			files, last = append(files, r), r
		}
		if last != nil {
			last.Current = true
		}
	}
	return files
}

// measured returns a revision with its size and hash: it writes the file, unless it has done so before. It returns nil
// if there are no rows, or if they cannot be written.
func (b *bulkFiles) measured(
	l *bulkListing, snap *snapshot.Snapshot, month bulk.Month, knownAt int64, newest bool,
) *bulk.Revision {
	d := l.dataset
	key := bulkFileKey{month, knownAt, d.source.basis(b.api, snap, knownAt)}
	if r, ok := l.known[key]; ok {
		l.used[key] = r
		return copyOf(r)
	}
	moment := knownAt
	if newest {
		moment = math.MaxInt64 // the same rows, which need not be computed as of a past moment
	}
	var m bulk.Meter
	w, err := b.write(snap, d, month, moment, &m)
	if err != nil {
		b.api.Log.Error("write a bulk file", "dataset", d.name, "month", month.String(), "error", err)
		return nil
	}
	l.used[key] = nil
	if w.rows > 0 {
		l.used[key] = &bulk.Revision{
			Dataset: d.name, Month: month, Grain: d.grain, KnownAt: knownAt, Rows: w.rows, From: w.from, To: w.to,
			Size: m.Size, Hash: m.Hash(),
		}
	}
	return copyOf(l.used[key])
}

// copyOf is a copy whose place in a list can be set.
func copyOf(r *bulk.Revision) *bulk.Revision {
	if r == nil {
		return nil
	}
	c := *r
	return &c
}

// write writes the file of a month as known at a moment. Nothing in it depends on when or where it is written.
func (b *bulkFiles) write(
	snap *snapshot.Snapshot, d *bulkDataset, month bulk.Month, moment int64, to io.Writer,
) (*bulkWriter, error) {
	w := &bulkWriter{month: month, file: table.NewFile(d.columns, to)}
	if err := d.source.write(b.api, snap, moment, w); err != nil {
		return w, err
	}
	return w, w.file.Close(
		table.Fact{Name: "dataset", Value: d.name}, table.Fact{Name: "granularity", Value: d.grain.String()},
		table.Fact{Name: "month", Value: month.String()})
}

// open returns the content of a file.
func (b *bulkFiles) open(snap *snapshot.Snapshot, r *bulk.Revision) (io.ReaderAt, error) {
	d := bulkDatasetOf(r.Dataset)
	return b.shelf.Open(r, func(to io.Writer) error {
		moment := r.KnownAt
		if r.Current && b.isFor(snap, r) {
			moment = math.MaxInt64
		}
		_, err := b.write(snap, d, r.Month, moment, to)
		return err
	})
}

// isFor reports whether the newest list was made of what a snapshot has of a file's dataset, so that nothing can have
// changed since.
func (b *bulkFiles) isFor(snap *snapshot.Snapshot, r *bulk.Revision) bool {
	d := bulkDatasetOf(r.Dataset)
	newest := b.listing(d).current(snap)
	return newest != nil && newest.byName[r.Name()] == r && newest.key.data == d.source.key(b.api, snap)
}
