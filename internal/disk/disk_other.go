//go:build !linux && !darwin

package disk

// SpaceOf is not known on this system.
func SpaceOf(string) (s Space, ok bool) { return s, false }
