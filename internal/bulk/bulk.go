// Package bulk makes the files of complete months: what a file is called (bulk.go), which revisions a month has
// (history.go), and where the bytes of files wait for their readers (shelf.go). What is in a file, its caller says.
//
// A file must have the same bytes on every node and after every restart, so that a download which breaks off at one
// node continues at another. So nothing is stored: a file follows from what was known at an instant, as as_of reads
// it, and is made again when it is requested. Its name has the beginning of its SHA-256. If a release of the program
// writes other bytes for the same rows, they have another name, and no reader puts two halves of different files
// together.
package bulk

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/assaydata/assay"
)

// Revision is one state of a month of a dataset.
type Revision struct {
	Dataset string
	Month   Month
	Grain   assay.Grain
	Number  int   // 0 is the first
	KnownAt int64 // as_of of this instant has the same rows
	Rows    int
	From    int64 // the first row
	To      int64 // the last row
	Size    int64 // of the file
	Hash    [32]byte
	Current bool // no other revision is newer
}

// Extension is that of all files.
const Extension = ".parquet"

// nameHash is how many bytes of the hash a name has: enough that no two files ever have the same name.
const nameHash = 8

// Name is what the file is called.
func (r *Revision) Name() string {
	return fmt.Sprintf("%s-%s-%x%s", r.Dataset, r.Month, r.Hash[:nameHash], Extension)
}

// SHA256 is the hash as text.
func (r *Revision) SHA256() string { return hex.EncodeToString(r.Hash[:]) }

// Path is where a server has the file.
func (r *Revision) Path() string { return "/api/bulk/" + r.Dataset + "/" + r.Name() }

// FitsName reports whether a name is the one that a server gives to a file with this hash. A reader who does not trust
// the server asks before writing a file of that name.
func FitsName(name, dataset, month, sha256 string) bool {
	if len(sha256) != 2*len(Revision{}.Hash) || !plain(dataset) || !plain(month) {
		return false
	}
	return name == dataset+"-"+month+"-"+sha256[:2*nameHash]+Extension
}

// plain reports whether a text has nothing but small letters, digits and hyphens, with a letter or digit in front.
func plain(text string) bool {
	return text != "" && text[0] != '-' && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
