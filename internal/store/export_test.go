package store

import "testing"

// SetIDHash replaces the hash that finds ids, until the test ends.
func SetIDHash(t *testing.T, hash func(source, id string) int64) {
	before := idHash
	t.Cleanup(func() { idHash = before })
	idHash = hash
}

// MaxProbe is how far behind its hash an id may stand.
const MaxProbe = maxProbe

// The body of a record, which nobody outside needs to see.
var (
	AppendBody = appendBody
	ReadBody   = readBody
)

// SetMoveRows replaces how many transactions the migration moves at once, until the test ends.
func SetMoveRows(t *testing.T, n int) {
	before := moveRows
	t.Cleanup(func() { moveRows = before })
	moveRows = n
}
