package files

import "os"

// SyncFolder closes a folder. Windows writes names by itself; a folder cannot be synchronized there.
func SyncFolder(folder *os.File) error { return folder.Close() }
