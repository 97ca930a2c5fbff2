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

// judge compares what was acknowledged with what the primary has, and has the program prove what was published.
func (d *drill) judge(ctx context.Context) (*results, error) {
	conn, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	r := &results{phases: d.log.phases}
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
	if err := d.countDoubled(ctx, conn); err != nil {
		return nil, err
	}
	out, err := d.assay(ctx, "verify")
	r.verify, _, _ = strings.Cut(out, "\n")
	if err != nil {
		r.verify, r.verifyErr = "FAILED", err
	}
	return r, nil
}

// countRows asks how many transactions there are, and how many ids: a row that is there twice shows in one of them.
func (d *drill) countRows(ctx context.Context, conn *pgx.Conn, r *results) error {
	history, err := os.ReadFile(filepath.Join(d.Dir, historyName))
	if err != nil {
		return err
	}
	r.wantRows = int64(historyRows(history))
	for _, p := range r.phases {
		r.wantRows += int64(p.writes)
	}
	return conn.QueryRow(ctx, `SELECT (SELECT coalesce(sum(rows), 0)::bigint FROM segments), (SELECT count(*) FROM transaction_ids)`).Scan(&r.rows, &r.ids)
}

// imported is what an import says at its end.
var imported = regexp.MustCompile(`^imported: ([\d,]+) new, ([\d,]+) known before, ([\d,]+) rejected`)

// countLostWrites imports once more what was acknowledged in each phase. What is new then had been lost.
func (d *drill) countLostWrites(ctx context.Context) error {
	for _, p := range d.log.phases {
		if p.writes == 0 {
			continue
		}
		out, err := d.assay(ctx, "import", "transactions", d.kept(p))
		if err != nil {
			return err
		}
		said := imported.FindStringSubmatch(out)
		if said == nil {
			return fmt.Errorf("assay import says %q", out)
		}
		if p.lostWrites, err = strconv.Atoi(strings.ReplaceAll(said[1], ",", "")); err != nil {
			return err
		}
	}
	return nil
}

// countHours looks for every hour whose publication was acknowledged: that it is covered, and that its value is there.
func (d *drill) countHours(ctx context.Context, conn *pgx.Conn) error {
	const text = `SELECT EXISTS (SELECT 1 FROM coverage c JOIN gpus g USING (gpu_id) JOIN series s USING (gpu_id) JOIN points p USING (series_id)
		WHERE g.gpu_name = 'H100 SXM' AND c.grain = 'hourly' AND c.from_ms <= $1 AND c.to_ms >= $2
		AND s.grain = 'hourly' AND s.region_id = 0 AND p.at > $1 AND p.at <= $2 AND p.value_nanos IS NOT NULL)`
	for _, p := range d.log.phases {
		for _, hour := range p.hours {
			there := false
			if err := conn.QueryRow(ctx, text, hour.UnixMilli(), hour.Add(time.Hour).UnixMilli()).Scan(&there); err != nil {
				return err
			}
			if !there {
				p.lost++
			}
		}
	}
	return nil
}

// countMinutes looks for every minute since the first fault until the newest print: the publisher owes each of them, and makes up
// for those that it missed.
func (d *drill) countMinutes(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT at FROM realtime JOIN gpus USING (gpu_id) WHERE gpu_name = 'H100 SXM' AND region_id = 0 AND at >= $1 ORDER BY at`,
		d.log.phases[0].begun.Add(time.Minute).UnixMilli())
	if err != nil {
		return err
	}
	minutes, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for i := 1; i < len(minutes); i++ {
		for at := minutes[i-1] + time.Minute.Milliseconds(); at < minutes[i]; at += time.Minute.Milliseconds() {
			d.log.at(time.UnixMilli(at)).lost++
		}
	}
	return nil
}

// doublings find what was determined again although nobody restated it, by the time of the second.
var doublings = []string{
	// stretches of time that two publications cover
	`SELECT p.published_at FROM publication_covers a JOIN publication_covers b USING (gpu_id, grain) JOIN publications p ON p.version = b.version
		WHERE a.version < b.version AND a.from_ms < b.to_ms AND b.from_ms < a.to_ms AND p.reason IS NULL`,
	// values that have a second revision
	`SELECT p.published_at FROM points a JOIN points b USING (series_id, at) JOIN publications p ON p.version = b.version
		WHERE a.revision < b.revision AND p.reason IS NULL`,
	// days that were signed twice with the same records
	`SELECT b.signed_at FROM manifests a JOIN manifests b USING (day, digest) WHERE a.sequence < b.sequence`,
	// prints of the same minute
	`SELECT at FROM realtime GROUP BY at, gpu_id, region_id HAVING count(*) > 1`,
}

func (d *drill) countDoubled(ctx context.Context, conn *pgx.Conn) error {
	for _, text := range doublings {
		rows, err := conn.Query(ctx, text)
		if err != nil {
			return err
		}
		times, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		for _, at := range times {
			d.log.at(time.UnixMilli(at)).doubled++
		}
	}
	return nil
}
