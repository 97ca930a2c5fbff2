// Package appendonly holds a list that only grows, for immutable snapshots. A longer list shares the array of the
// shorter one it was made from, so adding a few items to a million costs only those few.
package appendonly

import (
	"slices"
	"sync/atomic"
)

// List is immutable: With returns a longer list. Its readers never look past its own length, so a longer list may use
// the spare capacity of the array. Only the first list that extends a given one gets that capacity; a second one
// copies.
type List[T any] struct {
	items    []T
	extended *atomic.Bool
}

// Items returns the items. They must not be changed.
func (l List[T]) Items() []T { return l.items }

// With returns the list with more items at its end.
func (l List[T]) With(items []T) List[T] {
	if len(items) == 0 {
		return l
	}
	old := l.items
	if l.extended == nil || l.extended.Swap(true) {
		old = slices.Clip(old)
	}
	return List[T]{items: append(old, items...), extended: new(atomic.Bool)}
}
