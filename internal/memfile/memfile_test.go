//go:build linux

package memfile_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assaydata/assay/internal/memfile"
)

// read reads all of a file.
func read(t *testing.T, f *memfile.File, size int) []byte {
	t.Helper()
	data := make([]byte, size+1)
	n, err := unix.Pread(f.Descriptor(), data, 0)
	if err != nil {
		t.Fatal(err)
	}
	return data[:n]
}

func TestFile(t *testing.T) {
	want := []byte(strings.Repeat("An index is what it can prove. ", 9999))
	f := memfile.New([][]byte{want[:1], nil, want[1:70_000], want[70_000:]})
	if f == nil || f.Size() != len(want) {
		t.Fatalf("%+v", f)
	}
	if got := read(t, f, len(want)); !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, or others", len(got), len(want))
	}
	if _, err := unix.Pwrite(f.Descriptor(), []byte("x"), 0); err == nil {
		t.Error("the file can be changed")
	}
	if err := unix.Ftruncate(f.Descriptor(), 0); err == nil {
		t.Error("the file can be shortened")
	}
}

// TestNew_Limit: files that no one refers to make room for others.
func TestNew_Limit(t *testing.T) {
	data := [][]byte{make([]byte, 100)}
	kept := []*memfile.File{}
	for f := memfile.New(data); f != nil; f = memfile.New(data) {
		kept = append(kept, f)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if most := memfile.Most(int(min(limit.Cur, 1<<30))); len(kept) > most || len(kept) < most/2 {
		t.Errorf("%d files, at most %d are allowed", len(kept), most)
	}
	runtime.KeepAlive(kept) // until here
	f := memfile.New(data)
	for tries := 0; f == nil && tries < 1000; tries++ {
		runtime.GC() // cleanups run some time after it
		runtime.Gosched()
		f = memfile.New(data)
	}
	if f == nil {
		t.Error("no file, although no one uses the others")
	}
}
