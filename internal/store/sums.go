package store

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// isOverflow reports whether a sum failed because a number in it is too large. We store no such numbers, so it means
// damage.
func isOverflow(err error) bool {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code == pgerrcodeOutOfRange
	}
	failure, ok := errors.AsType[*sqlite.Error](err)
	return ok && strings.Contains(failure.Error(), "integer overflow")
}

// pgerrcodeOutOfRange is numeric_value_out_of_range in PostgreSQL's list of error codes.
const pgerrcodeOutOfRange = "22003"

// wholeNumber reads a sum. PostgreSQL's sums have a wider type, which is read as text; SQLite's have another type when
// a number in them has.
func wholeNumber(sum any) (n int64, ok bool) {
	if text, isText := sum.(string); isText {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	n, ok = sum.(int64)
	return n, ok
}
