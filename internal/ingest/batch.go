package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydata/assay/internal/store"
)

// Batch sizes. Large batches are fastest, but a batch is also what a crash can lose. So an import starts with small
// ones and lets them grow to a quarter of the rows before them.
const (
	leastRows = 20_000
	mostRows  = 250_000
)

// rowText is how many bytes the rows of a full batch have on average, at most. Longer rows make the batch smaller, so
// that its memory is bounded: a row may have up to maxLine bytes.
const rowText = 256

// batch holds rows on their way into the store.
type batch[T any] struct {
	rows []T
	from []location // of each row

	rejected int // rows among them that were rejected
	line     int // of the last row, also if it was rejected
	bytes    int // of the rows' texts, also of those that were rejected
}

// add appends a row and returns it, to be filled.
func (b *batch[T]) add(at location) *T {
	var row T
	b.rows, b.from, b.bytes, b.line = append(b.rows, row), append(b.from, at), b.bytes+len(at.text), at.line
	return &b.rows[len(b.rows)-1]
}

func (b *batch[T]) dropLast() {
	b.bytes -= len(b.from[len(b.from)-1].text)
	b.rows, b.from = b.rows[:len(b.rows)-1], b.from[:len(b.from)-1]
}

func (b *batch[T]) reset() {
	clear(b.rows) // lets the texts of a large batch be collected before the importer is
	clear(b.from)
	b.rows, b.from, b.rejected, b.bytes = b.rows[:0], b.from[:0], 0, 0
}

// delivery is what the parser hands to the writer: rejects to report, then a batch to commit, if any.
type delivery[T any] struct {
	rejects []Reject
	batch   *batch[T]
}

// writer commits batches in its own goroutine while the next batch is parsed. There are two batches: the writer has
// one, the parser the other.
type writer[T any] struct {
	work  chan delivery[T]
	spare chan *batch[T] // the batch that is neither being filled nor written
	done  chan struct{}  // closed when the writer ends, before work is closed only if it failed
	err   error          // why it failed; read it after done is closed
}

var errWriterFailed = errors.New("the writer has failed")

func (im *Importer[T]) startWriter(ctx context.Context) {
	w := &writer[T]{work: make(chan delivery[T]), spare: make(chan *batch[T], 1), done: make(chan struct{})}
	w.spare <- im.spare
	im.writer = w
	go func() {
		defer close(w.done)
		for d := range w.work {
			if w.err = im.report(d.rejects); w.err != nil {
				return
			}
			if d.batch == nil {
				continue
			}
			if w.err = im.commit(ctx, d.batch); w.err != nil {
				return
			}
			w.spare <- d.batch
		}
	}()
}

// stopWriter waits until everything handed over is written, and returns the writer's error. Rejects are reported even
// if the rows next to them are lost.
func (im *Importer[T]) stopWriter() error {
	w := im.writer
	close(w.work)
	<-w.done
	im.writer = nil
	err := cmp.Or(w.err, im.report(im.rejects))
	im.rejects = nil
	select {
	case im.spare = <-w.spare:
	default:
		im.spare = &batch[T]{} // the writer failed with it
	}
	return err
}

func (im *Importer[T]) batchSize() int {
	switch {
	case im.size > 0:
		return im.size
	case im.feed != nil:
		return leastRows // a large batch would take longer than the delay
	}
	return min(max(leastRows, im.handed/4), cmp.Or(im.MostRows, mostRows))
}

// full reports whether the batch should be handed over. Rejects count, because they may have to wait until then.
func (im *Importer[T]) full() bool {
	b, size := im.filling, im.batchSize()
	return len(b.rows)+b.rejected >= size || b.bytes >= size*rowText
}

func (im *Importer[T]) handFull() error {
	if !im.full() {
		return nil
	}
	return im.hand()
}

// hand gives the current batch to the writer as soon as it is done with the previous one.
func (im *Importer[T]) hand() error {
	d, rows := delivery[T]{rejects: im.rejects}, len(im.filling.rows)
	if rows > 0 {
		d.batch = im.filling
	} else if im.filling.rejected, im.filling.bytes = 0, 0; len(d.rejects) == 0 {
		return nil
	}
	if err := im.send(d); err != nil {
		return err
	}
	if rows > 0 {
		if im.feed != nil {
			im.feed.due.Stop()
		}
		im.handed += rows
		im.filling = <-im.writer.spare // the one written before
	}
	return nil
}

// reject reports a bad row: at once if the writer is idle, otherwise later, because conflicts of the previous batch
// come first. A feed may stay silent for hours, so there it waits for the writer.
func (im *Importer[T]) reject(at location, r Reject) error {
	im.filling.rejected++
	im.filling.bytes += len(at.text)
	im.filling.line = at.line
	r.File, r.Line, r.Cells = at.file, at.line, slices.Clone(r.Cells)
	im.rejects = append(im.rejects, r)
	pending := delivery[T]{rejects: im.rejects}
	if im.feed != nil {
		if err := im.send(pending); err != nil {
			return err
		}
		return im.handFull()
	}
	select {
	case im.writer.work <- pending:
		im.rejects = nil
	default:
	}
	return im.handFull()
}

// send hands over a delivery with all pending rejects.
func (im *Importer[T]) send(d delivery[T]) error {
	select {
	case im.writer.work <- d:
		im.rejects = nil
		return nil
	case <-im.writer.done:
		return errWriterFailed
	}
}

// commit writes a batch and empties it.
func (im *Importer[T]) commit(ctx context.Context, b *batch[T]) error {
	if len(b.rows) == 0 {
		return nil
	}
	if im.Admit != nil {
		if err := im.Admit(); err != nil {
			return err
		}
	}
	appended, err := im.write(ctx, b.rows)
	if err != nil {
		return fmt.Errorf("write a batch of %d rows: %w", len(b.rows), err)
	}
	for _, i := range appended.Conflicts {
		if err := im.report([]Reject{im.conflict(&b.rows[i], b.from[i])}); err != nil {
			return err
		}
	}
	im.counts.Inserted += appended.Inserted
	im.counts.Duplicates += appended.Duplicates
	im.stored.add(appended.Receipt)
	im.file.add(appended.Receipt)
	if im.committed = b.line; im.feed != nil {
		im.counts.Line = b.line
	}
	b.reset()
	if im.Committed != nil {
		im.Committed(im.counts)
	}
	return nil
}

func (im *Importer[T]) write(ctx context.Context, rows []T) (appended store.Appended, err error) {
	if im.CheckOnly {
		return store.Appended{Inserted: len(rows)}, nil
	}
	err = im.persist(func() (err error) {
		appended, err = im.rows.append(im.Store, ctx, rows)
		return err
	})
	return appended, err
}

// conflict describes a row whose key is known with other content.
func (im *Importer[T]) conflict(row *T, at location) Reject {
	source, key := im.rows.describe(row)
	r := Reject{
		File: cmp.Or(at.file, source), Line: at.line, Reason: im.rows.conflict(source, key), Conflict: true,
	}
	if at.file != "" {
		r.Cells = make([]string, len(im.rows.columns))
		im.reader.split(at.text, r.Cells)
	}
	return r
}

// report counts and reports rejects.
func (im *Importer[T]) report(rejects []Reject) error {
	for _, r := range rejects {
		im.counts.Rejected++
		if im.Rejected == nil {
			continue
		}
		if err := im.Rejected(r); err != nil {
			return err
		}
	}
	return nil
}
