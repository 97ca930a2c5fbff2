package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// producer feeds assay import --follow, and knows which of its rows are safe.
type producer struct {
	t        *testing.T
	database string
	dir      string
	rows     int
	safe     int // rows that need not be sent again
	crashes  int // the database has had so far
}

var acknowledged = regexp.MustCompile(`^committed: line (\d+)$`)

// feed sends all rows that are not safe. It calls safe after each acknowledgment, and stops early if that says so.
func (p *producer) feed(safe func() (kill bool)) {
	p.t.Helper()
	cmd := exec.Command(program, "import", "transactions", "--dir", ".", "--follow", "--follow-delay", "100ms", "-")
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "ASSAY_STORE="+p.database)
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(p.dir, "feed.err"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	first := p.safe
	go func() {
		defer in.Close()
		w := bufio.NewWriter(in)
		for i := first; i < p.rows; i++ {
			if _, err := io.WriteString(w, feedRow(i)); err != nil {
				return // the importer was killed
			}
		}
		w.Flush()
	}()
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		found := acknowledged.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		line, err := strconv.Atoi(found[1])
		if err != nil {
			p.t.Fatal(err)
		}
		p.safe = first + line
		if !killed && safe() {
			killed = true
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err != nil && !killed {
		text, _ := os.ReadFile(log.Name())
		p.t.Fatalf("the import ended with %v\n%s", err, text)
	}
}

func feedRow(i int) string {
	return fmt.Sprintf(`{"id":"%d","source":"exchange","executed_at":"2025-06-%02dT%02d:%02d:%02dZ","gpu_name":"H100 SXM",`+
		`"price":2.40,"gpus":2,"hours":1,"provider":"Birch","verified":true}`+"\n",
		i, 1+i/86400%28, i/3600%24, i/60%60, i%60)
}

// feedRows is how many rows the feed has: the variable ASSAY_TEST_FEED_ROWS, or few.
func feedRows(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ASSAY_TEST_FEED_ROWS")
	if text == "" {
		return 150_000
	}
	rows, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The database crashes ten times under a feed, and the importer is killed once. A producer that sends again what is not
// acknowledged loses nothing, and nothing is doubled.
func TestCrash_FeedOutlastsTheDatabase(t *testing.T) {
	t.Parallel()
	needProgram(t)
	server := storetest.StartPostgres(t)
	p := &producer{t: t, database: server.Address, dir: t.TempDir(), rows: feedRows(t)}
	db, err := store.Create(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	const crashes = 10
	crashDue := func() {
		if p.crashes < crashes && p.safe >= (p.crashes+1)*p.rows/(crashes+2) {
			server.Crash()
			p.crashes++
		}
	}
	p.feed(func() (kill bool) {
		crashDue()
		return p.crashes == crashes/2
	})
	if p.safe >= p.rows {
		t.Fatal("the importer was not killed before the end")
	}
	p.feed(func() (kill bool) {
		crashDue()
		return false
	})
	if p.safe != p.rows || p.crashes != crashes {
		t.Errorf("%d of %d rows are acknowledged after %d crashes", p.safe, p.rows, p.crashes)
	}
	db = storetest.OpenIn(t, p.database)
	if n, err := db.CountTransactions(t.Context()); n != p.rows || err != nil {
		t.Errorf("%d rows are stored (%v), want %d", n, err, p.rows)
	}
}
