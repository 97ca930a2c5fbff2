package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// expressTable is the table of the service in tools/peers/express. Its index contains the values, so that a query does
// not read the table at all; VACUUM tells PostgreSQL that it need not.
const expressTable = `CREATE TABLE index_values (
	gpu text COLLATE "C" NOT NULL, granularity text COLLATE "C" NOT NULL, at timestamptz NOT NULL,
	value double precision NOT NULL, PRIMARY KEY (gpu, granularity, at) INCLUDE (value)
);
\copy index_values FROM '%s' WITH (FORMAT csv)
VACUUM (ANALYZE) index_values;
SELECT count(*) FROM index_values;
`

// startExpress fills a database and starts the service before it.
func (p *peerServers) startExpress(ctx context.Context, node string, db *postgres, dir string, l lines) error {
	database, err := db.make(ctx)
	if err != nil {
		return err
	}
	p.stops = append(p.stops, func() { db.remove(ctx, database) })
	if err := fillExpress(ctx, db, database, dir, l); err != nil {
		return err
	}
	script, err := filepath.Abs(filepath.Join(expressFolder, "server.js")) // it runs in another folder
	if err != nil {
		return err
	}
	ports, err := process.SparePorts(1)
	if err != nil {
		return err
	}
	p.express, err = startPeer(ctx, "http://"+process.Loopback(ports[0]), process.Command{
		Name: "express", Dir: dir, DeathSignal: syscall.SIGKILL, Program: node, Args: []string{script},
		Env: append(db.environment(database), "PORT="+strconv.Itoa(ports[0]), "NODE_ENV=production"),
	})
	if err != nil {
		return err
	}
	p.stops = append(p.stops, p.express.process.Stop)
	return nil
}

// fillExpress loads the values.
func fillExpress(ctx context.Context, db *postgres, database, dir string, l lines) error {
	const file = "values.csv"
	if err := writeValues(filepath.Join(dir, file), l); err != nil {
		return err
	}
	out, _, err := db.run(ctx, database, dir, fmt.Sprintf(expressTable, file))
	if err != nil {
		return err
	}
	got, err := lastCount(out)
	if want := len(l.daily) + len(l.hourly); err == nil && got != want {
		err = fmt.Errorf("psql: %d values, want %d", got, want)
	}
	return err
}

// writeValues writes the values as CSV, in the order of the columns.
func writeValues(path string, l lines) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for granularity, values := range map[string][]value{"daily": l.daily, "hourly": l.hourly} {
		for _, v := range values {
			fmt.Fprintf(w, "%s,%s,%s,%s\n", peerGPU, granularity, v.at.UTC().Format(time.RFC3339Nano),
				strconv.FormatFloat(v.value, 'g', -1, 64)) // an error stays until the flush
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// expressVersion is "Express 5.3.0", out of its package.json.
func expressVersion(path string) string {
	var described struct{ Version string }
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &described) != nil || described.Version == "" {
		return "Express of unknown version"
	}
	return "Express " + described.Version
}
