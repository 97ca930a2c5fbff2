// Package cache holds values that are costly to compute. Each is computed once per key, however many callers need it at
// the same time, and the number and size of the values are bounded.
package cache

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// Cache computes and holds values. It is safe for concurrent use. A nil cache holds nothing.
//
// A full cache drops the entry that was used least recently.
type Cache[K comparable, V any] struct {
	limits Limits[V]
	front  atomic.Pointer[entry[K, V]] // used last, so that another use of it changes no order; nil if it was dropped

	mu      sync.Mutex
	entries map[K]*entry[K, V] // guarded by mu
	order   list.List          // of the keys, the one used last in front; guarded by mu
	size    int                // of all computed values; guarded by mu
}

// Limits bound a cache.
type Limits[V any] struct {
	Entries int
	Bytes   int         // of all values together; 0 for no limit
	Size    func(V) int // of a value in bytes; needed with Bytes
}

// entry is a value, which is computed outside the lock.
type entry[K comparable, V any] struct {
	key      K
	once     sync.Once
	value    V
	err      error
	made     atomic.Bool   // false if computing it panicked
	size     int           // guarded by the cache
	position *list.Element // guarded by the cache
}

// New returns an empty cache.
func New[K comparable, V any](limits Limits[V]) *Cache[K, V] {
	return &Cache[K, V]{limits: limits}
}

// Get returns the value of a key and computes it if necessary. Callers that need the same value wait for the first one
// to compute it; others do not wait.
func (c *Cache[K, V]) Get(key K, compute func() V) V {
	if c == nil {
		return compute()
	}
	if front := c.front.Load(); front != nil && front.key == key && front.made.Load() {
		return front.value // what all request at the same time should not make them wait for a lock
	}
	found, known := c.find(key, true)
	if found.made.Load() {
		return found.value
	}
	value, _ := c.value(key, found, known, func() (V, error) { return compute(), nil })
	return value
}

// Try is Get for a value that may fail to be computed. All that wait for it get the error, and the next caller tries
// again.
func (c *Cache[K, V]) Try(key K, compute func() (V, error)) (V, error) {
	if c == nil {
		return compute()
	}
	found, known := c.find(key, true)
	return c.value(key, found, known, compute)
}

// GetIfRoom is Get for keys that clients choose: a full cache stays as it is and returns false for a new key, so that a
// client with ever new keys neither displaces what others use nor makes the server compute values for a single use.
func (c *Cache[K, V]) GetIfRoom(key K, compute func() V) (value V, ok bool) {
	if c == nil {
		return value, false
	}
	found, known := c.find(key, false)
	if found == nil {
		return value, false
	}
	value, _ = c.value(key, found, known, func() (V, error) { return compute(), nil })
	return value, true
}

// value returns the value of an entry and computes it if no other caller has.
func (c *Cache[K, V]) value(key K, found *entry[K, V], known bool, compute func() (V, error)) (V, error) {
	found.once.Do(func() {
		found.value, found.err = compute()
		found.made.Store(true)
	})
	if !found.made.Load() {
		return compute() // which panics again
	}
	if !known {
		c.weigh(key, found)
	}
	return found.value, found.err
}

// find returns the entry of a key and adds it if there is none. In a full cache it drops another one for it, or returns
// nil.
func (c *Cache[K, V]) find(key K, drop bool) (found *entry[K, V], known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, known = c.entries[key]; known {
		c.order.MoveToFront(found.position)
		c.front.Store(found)
		return found, true
	}
	if !drop && c.fullLocked() {
		return nil, false
	}
	for len(c.entries) >= c.limits.Entries {
		c.dropLastLocked()
	}
	if c.entries == nil {
		c.entries = map[K]*entry[K, V]{}
	}
	found = &entry[K, V]{key: key, position: c.order.PushFront(key)}
	c.entries[key] = found
	c.front.Store(found)
	return found, false
}

func (c *Cache[K, V]) fullLocked() bool {
	return len(c.entries) >= c.limits.Entries || c.limits.Bytes > 0 && c.size >= c.limits.Bytes
}

// weigh adds the size of a value that was just computed, and drops others until all fit. It drops a value that could
// not be computed.
func (c *Cache[K, V]) weigh(key K, made *entry[K, V]) {
	if c.limits.Bytes == 0 && made.err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != made {
		return // dropped meanwhile
	}
	if made.err != nil {
		c.dropLocked(key)
		return
	}
	made.size = c.limits.Size(made.value)
	c.size += made.size
	for c.size > c.limits.Bytes && len(c.entries) > 0 {
		c.dropLastLocked()
	}
}

// dropLastLocked drops the entry that was used least recently.
func (c *Cache[K, V]) dropLastLocked() { c.dropLocked(c.order.Back().Value.(K)) }

func (c *Cache[K, V]) dropLocked(key K) {
	dropped := c.entries[key]
	c.front.CompareAndSwap(dropped, nil)
	c.order.Remove(dropped.position)
	c.size -= dropped.size
	delete(c.entries, key)
}

// Clear drops all entries. Values that are being computed are returned, and not held.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.front.Store(nil)
	c.order.Init()
	c.size = 0
}

// Has reports whether the value of a key is held or being computed.
func (c *Cache[K, V]) Has(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.entries[key]
	return known
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}
