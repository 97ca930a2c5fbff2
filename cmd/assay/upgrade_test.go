package main

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// downgrade gives a database the tables that it had before migration 16.
func downgrade(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, statement := range append([]string{
		`DROP TRIGGER key_was_changed`,
		`ALTER TABLE keys DROP COLUMN rate_limit`,
		`CREATE TRIGGER key_was_changed AFTER UPDATE OF expires_at, revoked_at ON keys BEGIN SELECT 1; END`,
		`DROP TABLE hidden`,
		`ALTER TABLE manifests DROP COLUMN publication`,
		`ALTER TABLE manifests DROP COLUMN receipt`,
		`ALTER TABLE manifests DROP COLUMN revisions`,
		`DELETE FROM migrations WHERE number >= 16`,
	}, storetest.BeforeLog...) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// statusOf is the status of a path; 0 if there is no response.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close() // only the status counts
	return response.StatusCode
}

// While tables are upgraded, which may take minutes, the server says that it lives and is not ready.
func TestServe_RespondsWhileUpgrading(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	db, err := sql.Open("sqlite", filepath.Join(dir, "data", store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	downgrade(t, db)
	if _, err := db.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil { // the upgrade has to wait for this
		t.Fatal(err)
	}
	spare, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := spare.Addr().String()
	if err := spare.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "--upgrade", "--dir", "data", "--addr", address)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	await := func(path string, want int) {
		t.Helper()
		err := until(patience, 10*time.Millisecond, func() error {
			if got := statusOf(t, "http://"+address+path); got != want {
				return fmt.Errorf("%s is %d, want %d", path, got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	await("/livez", http.StatusOK)
	await("/readyz", http.StatusServiceUnavailable)
	if _, err := db.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	await("/readyz", http.StatusOK)
}
