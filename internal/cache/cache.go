// Package cache holds values that are costly to compute. Each is computed once per key, however many callers need it at
// the same time, and the number and size of the values are bounded.
package cache

import "sync"

// Cache computes and holds values. It is safe for concurrent use. A nil cache holds nothing.
//
// A full cache drops the oldest entry that has not been used since the last drop, so values in frequent use stay.
type Cache[K comparable, V any] struct {
	limits Limits[V]

	mu      sync.Mutex
	entries map[K]*entry[V] // guarded by mu
	order   []K             // in which entries were added or last spared; guarded by mu
	size    int             // of all computed values; guarded by mu
}

// Limits bound a cache.
type Limits[V any] struct {
	Entries int
	Bytes   int         // of all values together; 0 for no limit
	Size    func(V) int // of a value in bytes; needed with Bytes
}

// entry is a value, which is computed outside the lock.
type entry[V any] struct {
	once  sync.Once
	value V
	made  bool // false if computing it panicked
	size  int  // guarded by the cache
	used  bool // since the last drop; guarded by the cache
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
	return c.value(key, found, known, compute), true
}

// value returns the value of an entry and computes it if no other caller has.
func (c *Cache[K, V]) value(key K, found *entry[V], known bool, compute func() V) V {
	found.once.Do(func() { found.value, found.made = compute(), true })
	if !found.made {
		return compute() // which panics again
	}
	if !known {
		c.weigh(key, found)
	}
	return found.value
}

// find returns the entry of a key and adds it if there is none. In a full cache it drops another one for it, or returns
// nil.
func (c *Cache[K, V]) find(key K, drop bool) (found *entry[V], known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, known = c.entries[key]; known {
		found.used = true
		return found, true
	}
	if !drop && c.fullLocked() {
		return nil, false
	}
	for len(c.entries) >= c.limits.Entries {
		c.dropLocked()
	}
	if c.entries == nil {
		c.entries = map[K]*entry[V]{}
	}
	found = &entry[V]{}
	c.entries[key] = found
	c.order = append(c.order, key)
	return found, false
}

func (c *Cache[K, V]) fullLocked() bool {
	return len(c.entries) >= c.limits.Entries || c.limits.Bytes > 0 && c.size >= c.limits.Bytes
}

// weigh adds the size of a value that was just computed, and drops others until all fit.
func (c *Cache[K, V]) weigh(key K, made *entry[V]) {
	if c.limits.Bytes == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != made {
		return // dropped meanwhile
	}
	made.size = c.limits.Size(made.value)
	c.size += made.size
	for c.size > c.limits.Bytes && len(c.entries) > 0 {
		c.dropLocked()
	}
}

// dropLocked drops the oldest entry that has not been used since the last drop.
func (c *Cache[K, V]) dropLocked() {
	for {
		key := c.order[0]
		c.order = c.order[1:]
		first := c.entries[key]
		if first.used {
			first.used = false
			c.order = append(c.order, key)
			continue
		}
		c.size -= first.size
		delete(c.entries, key)
		return
	}
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}
