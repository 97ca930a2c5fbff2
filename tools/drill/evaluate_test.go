//go:build linux

package main

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydata/assay/internal/store/storetest"
)

// damaged is a database with losses and duplicates, and a drill of two phases, at 0 and at 1000 minutes.
func damaged(t *testing.T, statements ...string) (*drill, *pgx.Conn) {
	t.Helper()
	address := storetest.Postgres(t)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the database is removed later
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return &drill{
		journal: journal{phases: []*phase{{begun: time.UnixMilli(0)}, {begun: time.UnixMilli(60_000_000)}}},
	}, conn
}

// Versions 1 and 2 are of the first phase, 3 of the second; 4, of the second, is a restatement.
const versions = `INSERT INTO publications (version, published_at, methodology, receipt, reason, checksum)
	VALUES (1, 1000, 'm', 1, NULL, 0), (2, 2000, 'm', 1, NULL, 0),
		(3, 60001000, 'm', 1, NULL, 0), (4, 60002000, 'm', 1, 'a correction', 0)`

func wantDuplicates(t *testing.T, d *drill, conn *pgx.Conn, first, second int) {
	t.Helper()
	if err := d.countDuplicates(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if a, b := d.journal.phases[0].duplicated, d.journal.phases[1].duplicated; a != first || b != second {
		t.Errorf("%d duplicated in the first phase and %d in the second, want %d and %d", a, b, first, second)
	}
}

func TestCountDuplicates_None(t *testing.T) {
	t.Parallel()
	d, conn := damaged(t, versions,
		`INSERT INTO publication_covers VALUES (1, 1, 'hourly', 0, 10), (2, 1, 'hourly', 10, 20),
			(3, 2, 'hourly', 0, 10), (3, 1, 'daily', 0, 10), (4, 1, 'hourly', 0, 10)`,
		`INSERT INTO points VALUES (1, 10, 1, 5, 1), (1, 20, 1, 5, 2), (1, 10, 2, 6, 4)`)
	wantDuplicates(t, d, conn, 0, 0)
}

func TestCountDuplicates_Covers(t *testing.T) {
	t.Parallel()
	d, conn := damaged(t, versions,
		`INSERT INTO publication_covers VALUES (1, 1, 'hourly', 0, 10), (2, 1, 'hourly', 9, 20), (3, 1, 'hourly', 0, 5)`)
	wantDuplicates(t, d, conn, 1, 1)
}

func TestCountDuplicates_Points(t *testing.T) {
	t.Parallel()
	d, conn := damaged(t, versions, `INSERT INTO points VALUES (1, 10, 1, 5, 1), (1, 10, 2, 5, 3)`)
	wantDuplicates(t, d, conn, 0, 1)
}

func TestCountDuplicates_Manifests(t *testing.T) {
	t.Parallel()
	d, conn := damaged(t, `INSERT INTO manifests VALUES (1, 7, 1, 3, 'same', 1000, '', '', '', ''),
		(2, 7, 2, 3, 'same', 2000, '', '', '', ''), (3, 7, 3, 4, 'more', 3000, '', '', '', '')`)
	wantDuplicates(t, d, conn, 1, 0)
}

func TestCountHours(t *testing.T) {
	t.Parallel()
	d, conn := damaged(t,
		`INSERT INTO series (series_id, gpu_id, region_id, grain)
			SELECT 1, gpu_id, 0, 'hourly' FROM gpus WHERE gpu_name = 'H100 SXM'`,
		`INSERT INTO coverage SELECT gpu_id, 'hourly', 0, 7200000 FROM gpus WHERE gpu_name = 'H100 SXM'`,
		`INSERT INTO points VALUES (1, 3600000, 1, 5, 1), (1, 10800000, 1, 5, 1)`)
	hour := func(n int) time.Time { return time.UnixMilli(int64(n) * 3_600_000) }
	d.journal.phases[0].hours = []time.Time{hour(0)}
	d.journal.phases[1].hours = []time.Time{hour(1), hour(2)} // one without its value, one without coverage
	if err := d.countHours(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if a, b := d.journal.phases[0].lost, d.journal.phases[1].lost; a != 0 || b != 2 {
		t.Errorf("%d and %d lost, want 0 and 2", a, b)
	}
}

func TestCountMinutes(t *testing.T) {
	t.Parallel()
	d, conn := damaged(t,
		`INSERT INTO realtime SELECT m * 60000, gpu_id, 0, 5, 1, 1
			FROM gpus, unnest(ARRAY[1, 2, 4, 1000, 1003]) m WHERE gpu_name = 'H100 SXM'`,
		`INSERT INTO realtime SELECT m * 60000, gpu_id, 0, 5, 1, 1
			FROM gpus, generate_series(5, 999) m WHERE gpu_name = 'H100 SXM'`)
	if err := d.countMinutes(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if a, b := d.journal.phases[0].lost, d.journal.phases[1].lost; a != 1 || b != 2 {
		t.Errorf("%d and %d lost, want 1 and 2", a, b)
	}
}

func TestCountRows(t *testing.T) {
	t.Parallel()
	d, conn := damaged(t,
		`INSERT INTO segments VALUES (1, 3, 0, ''), (2, 4, 0, '')`,
		`INSERT INTO transaction_ids VALUES (1, 1), (2, 1)`)
	d.cluster = &cluster{Dir: t.TempDir()}
	d.journal.phases[1].writes = 6
	history := historyFile(time.Now().Add(-time.Hour))
	if err := writeHistory(d.Dir, history); err != nil {
		t.Fatal(err)
	}
	r := &results{phases: d.journal.phases}
	if err := d.countRows(t.Context(), conn, r); err != nil {
		t.Fatal(err)
	}
	if r.rows != 7 || r.ids != 2 || r.wantRows != int64(6+historyRows(history)) {
		t.Errorf("%d rows, %d ids, want %d", r.rows, r.ids, r.wantRows)
	}
}
