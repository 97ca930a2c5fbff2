package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/assaydata/assay/internal/disk"
	"github.com/assaydata/assay/internal/files"
)

// What is left on a disk. Below the first, a day of a busy market may fill it; below the second, one large import.
const (
	littleSpace     = 2 << 30
	hardlyAnySpace  = 200 << 20
	littlePercent   = 5
	bytesOfGigabyte = 1 << 30
)

// Folder examines a folder that the server writes to. Only a folder with a database must be on a disk of this machine
// that outlives a restart. create says how to get the folder if it is missing.
func Folder(subject, name string, database bool, create string) []Finding {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{problem(subject, create, "%s does not exist", name)}
	case err != nil:
		return []Finding{problem(subject, "run assay doctor as the user that the server runs as", "%v", err)}
	case !info.IsDir():
		return []Finding{problem(subject, "name a folder", "%s is not a folder", name)}
	}
	if err := writable(name); err != nil {
		return []Finding{problem(subject, "run assay doctor as the user that the server runs as; that user must own "+
			"the folder, and its disk must not be read-only", "%s cannot be written to: %v", name, err)}
	}
	found := []Finding{space(subject, name)}
	if !database {
		return found
	}
	switch disk.KindOf(name) {
	case disk.Network:
		found = append(found, problem(subject, "use a disk of this machine, or PostgreSQL with --store",
			"%s is on a network file system, where SQLite's locks do not hold", name))
	case disk.Memory:
		found = append(found, warning(subject, "use a folder on a disk",
			"%s is in memory: everything in it is lost when the machine stops", name))
	case disk.Local:
	}
	return found
}

// writable tries to write a file, whose name no other program uses, and removes it.
func writable(folder string) error {
	file, err := os.CreateTemp(folder, ".assay-doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("x")
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name()))
}

func space(subject, folder string) Finding {
	s, known := disk.SpaceOf(folder)
	if !known {
		return ok(subject, "%s can be written to", folder)
	}
	text := fmt.Sprintf("%.1f of %.1f GB are free for %s",
		float64(s.Free)/bytesOfGigabyte, float64(s.Size)/bytesOfGigabyte, folder)
	switch {
	case s.Free < hardlyAnySpace:
		return problem(subject, "make room, or use a larger disk", "%s", text)
	case s.Free < littleSpace || s.Free*100 < s.Size*littlePercent:
		return warning(subject, "make room, or use a larger disk", "%s", text)
	}
	return ok(subject, "%s", text)
}

// Private examines files and folders that only the server may read.
func Private(subject string, names ...string) []Finding {
	readable := files.ReadableByAll(names...)
	if len(readable) == 0 {
		return nil
	}
	return []Finding{warning(subject, files.MakePrivate(readable),
		"every user of this machine can read %s", strings.Join(readable, ", "))}
}
