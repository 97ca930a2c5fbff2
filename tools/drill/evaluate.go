//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// evaluate compares what was acknowledged with what the primary has, and runs assay verify on what was published.
func (d *drill) evaluate(ctx context.Context) (*results, error) {
	conn, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	r := &results{phases: d.journal.phases}
	if err := d.countRows(ctx, conn, r); err != nil {
		return nil, err
	}
	if err := d.countLostWrites(ctx); err != nil {
		return nil, err
	}
	if err := d.countHours(ctx, conn); err != nil {
		return nil, err
	}
	if err := d.countMinutes(ctx, conn); err != nil {
		return nil, err
	}
	if err := d.countDuplicates(ctx, conn); err != nil {
		return nil, err
	}
	out, err := d.assay(ctx, "verify")
	r.verify, _, _ = strings.Cut(out, "\n")
	if err != nil {
		r.verify, r.verifyErr = "FAILED", err
	}
	return r, nil
}

// countRows counts the transactions and their ids: a duplicate row shows in one of them.
func (d *drill) countRows(ctx context.Context, conn *pgx.Conn, r *results) error {
	history, err := os.ReadFile(filepath.Join(d.Dir, historyName))
	if err != nil {
		return err
	}
	r.wantRows = int64(historyRows(history))
	for _, p := range r.phases {
		r.wantRows += int64(p.writes)
	}
	const text = `SELECT (SELECT coalesce(sum(rows), 0)::bigint FROM segments), (SELECT count(*) FROM transaction_ids)`
	return conn.QueryRow(ctx, text).Scan(&r.rows, &r.ids)
}

// imported is the last line of an import's output.
var imported = regexp.MustCompile(`^imported: ([\d,]+) new, ([\d,]+) known before, ([\d,]+) rejected`)

// countLostWrites imports again what was acknowledged in each phase. Rows that are new then were lost.
func (d *drill) countLostWrites(ctx context.Context) error {
	for _, p := range d.journal.phases {
		if p.writes == 0 {
			continue
		}
		out, err := d.assay(ctx, "import", "transactions", d.importedFolder(p))
		if err != nil {
			return err
		}
		counts := imported.FindStringSubmatch(out)
		if counts == nil {
			return fmt.Errorf("assay import prints %q", out)
		}
		if p.lostWrites, err = strconv.Atoi(strings.ReplaceAll(counts[1], ",", "")); err != nil {
			return err
		}
	}
	return nil
}

// countHours checks that every hour whose publication was acknowledged is covered and has a value.
func (d *drill) countHours(ctx context.Context, conn *pgx.Conn) error {
	const text = `SELECT EXISTS (
		SELECT 1 FROM coverage c JOIN gpus g USING (gpu_id) JOIN series s USING (gpu_id) JOIN points p USING (series_id)
		WHERE g.gpu_name = 'H100 SXM' AND c.grain = 'hourly' AND c.from_ms <= $1 AND c.to_ms >= $2
		AND s.grain = 'hourly' AND s.region_id = 0 AND p.at > $1 AND p.at <= $2 AND p.value_nanos IS NOT NULL)`
	for _, p := range d.journal.phases {
		for _, hour := range p.hours {
			found := false
			if err := conn.QueryRow(ctx, text, hour.UnixMilli(), hour.Add(time.Hour).UnixMilli()).Scan(&found); err != nil {
				return err
			}
			if !found {
				p.lost++
			}
		}
	}
	return nil
}

// countMinutes checks every minute from the first fault to the newest print: the publisher has to print each of them,
// also those that it missed.
func (d *drill) countMinutes(ctx context.Context, conn *pgx.Conn) error {
	const text = `SELECT at FROM realtime JOIN gpus USING (gpu_id)
		WHERE gpu_name = 'H100 SXM' AND region_id = 0 AND at >= $1 ORDER BY at`
	rows, err := conn.Query(ctx, text, d.journal.phases[0].begun.Add(time.Minute).UnixMilli())
	if err != nil {
		return err
	}
	minutes, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for i := 1; i < len(minutes); i++ {
		for at := minutes[i-1] + time.Minute.Milliseconds(); at < minutes[i]; at += time.Minute.Milliseconds() {
			d.journal.phaseAt(time.UnixMilli(at)).lost++
		}
	}
	return nil
}

// duplicateQueries find what was computed twice without a restatement, and return the time of the second.
var duplicateQueries = []string{
	// times that two publications cover
	`SELECT p.published_at FROM publication_covers a JOIN publication_covers b USING (gpu_id, grain)
		JOIN publications p ON p.version = b.version
		WHERE a.version < b.version AND a.from_ms < b.to_ms AND b.from_ms < a.to_ms AND p.reason IS NULL`,
	// values that have a second revision
	`SELECT p.published_at FROM points a JOIN points b USING (series_id, at) JOIN publications p ON p.version = b.version
		WHERE a.revision < b.revision AND p.reason IS NULL`,
	// days that were signed twice with the same records
	`SELECT b.signed_at FROM manifests a JOIN manifests b USING (day, digest) WHERE a.sequence < b.sequence`,
	// prints of the same minute
	`SELECT at FROM realtime GROUP BY at, gpu_id, region_id HAVING count(*) > 1`,
}

func (d *drill) countDuplicates(ctx context.Context, conn *pgx.Conn) error {
	for _, text := range duplicateQueries {
		rows, err := conn.Query(ctx, text)
		if err != nil {
			return err
		}
		times, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		for _, at := range times {
			d.journal.phaseAt(time.UnixMilli(at)).duplicated++
		}
	}
	return nil
}
