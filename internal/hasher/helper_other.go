//go:build !linux

package hasher

import "errors"

func startHelper() (*helper, error) { return nil, errors.ErrUnsupported }
