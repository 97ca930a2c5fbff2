package store_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A write-ahead log that was left by a killed process is refused if a damage in its middle would cost commits.
func TestWAL_Damaged(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	for i := range 5 {
		mustAppend(t, db, rental(fmt.Sprint(i)))
	}
	folder := storetest.Folder(t, db)
	read := func(suffix string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(folder, store.FileName+suffix))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	file, wal := read(""), read("-wal")
	frame := 24 + int(binary.BigEndian.Uint32(wal[8:]))
	frames := (len(wal) - 32) / frame
	var commits []int // the frames that end them
	for i := range frames {
		if binary.BigEndian.Uint32(wal[32+i*frame+4:]) > 0 {
			commits = append(commits, i)
		}
	}
	if len(commits) < 5 {
		t.Fatalf("the log has %d commits in %d frames", len(commits), frames)
	}
	last := commits[len(commits)-1]
	// killed is the folder that a killed process leaves, with some bytes of its log changed.
	killed := func(offsets ...int) string {
		t.Helper()
		dir, damaged := t.TempDir(), append([]byte(nil), wal...)
		for _, at := range offsets {
			damaged[at] ^= 0x40
		}
		err := errors.Join(
			os.WriteFile(filepath.Join(dir, store.FileName), file, 0o600),
			os.WriteFile(filepath.Join(dir, store.FileName+"-wal"), damaged, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	f := func(rows int, offsets ...int) {
		t.Helper()
		dir := killed(offsets...)
		if rows > 0 {
			wantCount(t, storetest.OpenIn(t, dir), rows)
			return
		}
		if _, err := store.Open(t.Context(), "sqlite://"+dir); !errors.Is(err, store.ErrWALDamaged) {
			t.Fatalf("damaged at %v: %v", offsets, err)
		}
		// The remedy of the message: SQLite keeps what comes before the damage.
		storetest.ExecAt(t, "sqlite://"+dir, `PRAGMA wal_checkpoint(TRUNCATE)`)
		db, err := store.Open(t.Context(), "sqlite://"+dir)
		if err == nil {
			err = db.Close()
		}
		if err != nil && !errors.Is(err, store.ErrNoDatabase) {
			t.Errorf("damaged at %v, after the remedy: %v", offsets, err)
		}
	}
	const page, checksum, salt = 24 + 100, 16, 8
	start := func(i int) int { return 32 + i*frame }
	f(5)
	f(0, start(1)+page)
	f(0, start(commits[1])+page)
	f(0, start(commits[1])+checksum)
	f(0, start(commits[1])+salt)
	f(0, start(commits[1])+page, start(commits[1])+checksum)
	f(0, 16) // the salts in the header
	f(0, 9)  // the size of the pages in it
	f(0, 24) // its checksum
	f(4, start(last)+page)
	f(4, start(commits[len(commits)-2]+1)+page) // in the last commit: as a crash tears it
}

// A log that another process writes, and begins again from the start, never looks damaged.
func TestWAL_Written(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	stop, opened := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				close(opened)
				return
			default:
			}
			other, err := store.Open(t.Context(), storetest.Address(t, db))
			if err == nil {
				err = other.Close()
			}
			if err != nil {
				opened <- err
				return
			}
		}
	}()
	for i := range 40 {
		mustAppend(t, db, rental(fmt.Sprint(i)))
		if i%4 == 3 { // the next commit begins the log again
			storetest.Exec(t, db, `PRAGMA wal_checkpoint(RESTART)`)
		}
	}
	close(stop)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
