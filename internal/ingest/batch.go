package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Sizes of a batch. The store is fastest with the most; but a batch is also what a crash can lose, so an import begins
// with the least and lets its batches grow to a quarter of the rows before them.
const (
	leastRows = 20_000
	mostRows  = 250_000
)

// batch is rows on their way into the store.
type batch[T any] struct {
	rows   []T
	places []place // where each of the rows came from

	rejected int // rows between them that were not taken
}

// add gives the batch one more row, to be filled.
func (b *batch[T]) add(at place) *T {
	var row T
	b.rows, b.places = append(b.rows, row), append(b.places, at)
	return &b.rows[len(b.rows)-1]
}

func (b *batch[T]) dropLast() {
	b.rows, b.places = b.rows[:len(b.rows)-1], b.places[:len(b.places)-1]
}

func (b *batch[T]) reset() {
	clear(b.rows) // the texts of a large batch are not to live as long as the importer
	clear(b.places)
	b.rows, b.places, b.rejected = b.rows[:0], b.places[:0], 0
}

// delivery is what the parser gives the writer: rejects to be told, and then a batch, if any, to be committed.
type delivery[T any] struct {
	rejects []Reject
	batch   *batch[T]
}

// writer commits batches in a goroutine of its own, so that the next batch is parsed meanwhile. There are two batches: the
// writer has one, the parser the other.
type writer[T any] struct {
	work  chan delivery[T]
	spare chan *batch[T] // the batch that is neither filled nor written
	done  chan struct{}  // closed when the writer has ended, by itself only when it failed
	err   error          // why; to be read when done is closed
}

var errWriterFailed = errors.New("the writer has failed")

func (im *Importer[T]) startWriter(ctx context.Context) {
	w := &writer[T]{work: make(chan delivery[T]), spare: make(chan *batch[T], 1), done: make(chan struct{})}
	w.spare <- im.spare
	im.writer = w
	if im.feed != nil {
		im.feed.failed = w.done
	}
	go func() {
		defer close(w.done)
		for d := range w.work {
			im.tell(d.rejects)
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

// stopWriter waits until everything handed over is written, and gives the writer's error. Rejects are told even when the
// rows beside them are lost.
func (im *Importer[T]) stopWriter() error {
	w := im.writer
	close(w.work)
	<-w.done
	im.writer = nil
	im.tell(im.rejects)
	im.rejects = nil
	select {
	case im.spare = <-w.spare:
	default:
		im.spare = &batch[T]{} // the writer failed with it
	}
	return w.err
}

func (im *Importer[T]) batchSize() int {
	switch {
	case im.size > 0:
		return im.size
	case im.feed != nil:
		return leastRows // a large batch would take longer than the delay
	}
	return min(max(leastRows, im.handed/4), mostRows)
}

// full tells whether it is time to hand over. Rejects count, because they may have to be kept until then.
func (im *Importer[T]) full() bool {
	return len(im.filling.rows)+im.filling.rejected >= im.batchSize()
}

func (im *Importer[T]) handFull() error {
	if !im.full() {
		return nil
	}
	return im.hand()
}

// hand gives the writer what has gathered, as soon as it is done with the batch before.
func (im *Importer[T]) hand() error {
	d, rows := delivery[T]{rejects: im.rejects}, len(im.filling.rows)
	if rows > 0 {
		d.batch = im.filling
	} else if im.filling.rejected = 0; len(d.rejects) == 0 {
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
		im.filling = <-im.writer.spare // the one that was written before
	}
	return nil
}

// reject keeps a row to be told of. It is told at once when the writer has nothing to do; otherwise later, because the
// conflicts of the batch before come first. A feed may have nothing more to say for hours: there it waits for the writer.
func (im *Importer[T]) reject(at place, reason string) error {
	im.filling.rejected++
	im.rejects = append(im.rejects, Reject{File: at.file, Line: at.line, Reason: reason, Row: at.text})
	told := delivery[T]{rejects: im.rejects}
	if im.feed != nil {
		if err := im.send(told); err != nil {
			return err
		}
		return im.handFull()
	}
	select {
	case im.writer.work <- told:
		im.rejects = nil
	default:
	}
	return im.handFull()
}

// send waits until the writer takes a delivery with all rejects.
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
	appended, err := im.family.append(im.Store, ctx, b.rows)
	if err != nil {
		return fmt.Errorf("write a batch of %d rows: %w", len(b.rows), err)
	}
	for _, i := range appended.Conflicts {
		source, key := im.family.describe(&b.rows[i])
		reason := im.family.conflict(source, key)
		at := b.places[i]
		im.tell([]Reject{{File: cmp.Or(at.file, source), Line: at.line, Reason: reason, Row: at.text}})
	}
	im.counts.Inserted += appended.Inserted
	im.counts.Duplicates += appended.Duplicates
	b.reset()
	if im.Committed != nil {
		im.Committed(im.counts)
	}
	return nil
}

// tell counts and reports rejects.
func (im *Importer[T]) tell(rejects []Reject) {
	for _, r := range rejects {
		im.counts.Rejected++
		if im.Rejected != nil {
			im.Rejected(r)
		}
	}
}
