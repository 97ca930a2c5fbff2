//go:build unix

package files

import (
	"errors"
	"os"
)

// SyncFolder closes a folder when the disk has the names of all files that were made or renamed in it.
func SyncFolder(folder *os.File) error { return errors.Join(folder.Sync(), folder.Close()) }
