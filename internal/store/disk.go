package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// DiskFull reports whether an operation failed because there is no room on a disk, this machine's or the database
// server's. SQLite's own messages do not always say so: where it cannot extend a file it reports an I/O error.
func DiskFull(err error) bool {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code == "53100" // disk_full in PostgreSQL's list of error codes
	}
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		switch failure.Code() {
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE:
			return true
		}
	}
	return errors.Is(err, noRoom)
}

// DiskReadOnly reports whether an operation failed because this machine may not write its disk: the kernel makes a file
// system read-only when it finds an error in it.
func DiskReadOnly(err error) bool {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok && failure.Code()&0xff == sqlite3.SQLITE_READONLY {
		return true
	}
	return errors.Is(err, readOnlyDisk)
}
