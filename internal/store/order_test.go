package store

import (
	"errors"
	"testing"
)

// After a failed statement PostgreSQL refuses all others of the transaction, so the first error is the one to report.
func TestInOrder_StopsAtFirstError(t *testing.T) {
	t.Parallel()
	failure := errors.New("away")
	var ran []int
	step := func(n int, err error) func() error {
		return func() error {
			ran = append(ran, n)
			return err
		}
	}
	if err := inOrder(step(1, nil), step(2, failure), step(3, nil)); !errors.Is(err, failure) || len(ran) != 2 {
		t.Errorf("steps %v ran, with the error %v; want 1 and 2, and %v", ran, err, failure)
	}
	if err := inOrder(step(4, nil), step(5, nil)); err != nil || len(ran) != 4 {
		t.Errorf("steps %v ran, with the error %v; want all, and none", ran, err)
	}
}

// fakeBulk counts its flushes.
type fakeBulk struct {
	flushes int
	err     error
}

func (b *fakeBulk) add(...any) error { return nil }
func (b *fakeBulk) flush() error     { b.flushes++; return b.err }
func (b *fakeBulk) close()           {}

func TestRecordWriter_FlushStopsAtFirstError(t *testing.T) {
	t.Parallel()
	points, records := &fakeBulk{err: errors.New("away")}, &fakeBulk{}
	err := (&recordWriter{points: points, records: records}).flush()
	if !errors.Is(err, points.err) || records.flushes != 0 {
		t.Errorf("the error is %v, and records were flushed %d times; want %v and none", err, records.flushes, points.err)
	}
}
