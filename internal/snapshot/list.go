package snapshot

import (
	"slices"
	"sync/atomic"
)

// list grows at its end. A longer list shares the array of the shorter one, whose readers never look past its own length;
// the room behind the array belongs to the first list that extends it.
type list[T any] struct {
	items []T
	taken *atomic.Bool
}

func (l list[T]) with(items []T) list[T] {
	if len(items) == 0 {
		return l
	}
	old := l.items
	if l.taken == nil || l.taken.Swap(true) {
		old = slices.Clip(old)
	}
	return list[T]{append(old, items...), new(atomic.Bool)}
}
