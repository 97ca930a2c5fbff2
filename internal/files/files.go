// Package files opens the files that commands read and write. Only their owner can read what is written. What is read
// comes from others: its size is bounded, and a file that never ends does not outlive the command.
package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// private is the mode of a file that only its owner can read and write.
const private = 0o600

// Create creates a file that only its owner can read, whatever the umask allows. It empties an existing file and takes
// the permissions of other users away; a device or a pipe stays as it is.
func Create(name string) (*os.File, error) {
	return open(name, os.O_WRONLY|os.O_TRUNC)
}

// Append opens a file to read it and to write at its end. Otherwise it is like Create.
func Append(name string) (*os.File, error) {
	return open(name, os.O_RDWR|os.O_APPEND)
}

func open(name string, how int) (*os.File, error) {
	file, err := os.OpenFile(name, how|os.O_CREATE, private)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&^private != 0 {
		err = file.Chmod(private)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ReadableByAll returns those of the named files and folders that every user of the machine can read. On Windows there
// are none: who can read a file follows from its folder there, and its mode says nothing.
func ReadableByAll(names ...string) (readable []string) {
	const others = 0o004
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&others != 0 {
			readable = append(readable, name)
		}
	}
	return readable
}

// MakePrivate is the command that lets only the owner read files and folders.
func MakePrivate(names []string) string {
	command := "chmod go-rwx"
	for _, name := range names {
		command += " '" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return command
}

// Write creates a file that only its owner can read, with the given content.
func Write(name string, content []byte) error {
	file, err := Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// Replace writes a file that only its owner can read, in place of the one of that name. When it returns, the disk has
// the new one; after a crash there is the old one or the new one, and never a part.
func Replace(name string, content []byte) (err error) {
	next := name + ".next"
	file, err := Create(next)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, name); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return SyncFolder(folder)
}
