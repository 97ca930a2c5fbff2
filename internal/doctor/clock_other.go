//go:build !linux

package doctor

// clockKept is not known on this system.
func clockKept() (kept, known bool) { return false, false }
