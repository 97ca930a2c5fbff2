//go:build !linux

package memfile

import "errors"

func create([][]byte) (fd, size int, err error) { return 0, 0, errors.ErrUnsupported }

func remove(int) {}

func descriptorLimit() int { return 0 }
