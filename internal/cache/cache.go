// Package cache keeps values that are costly to make: each is made once per key, however many callers need it at the same
// time, and the number and size of what is kept are bounded.
package cache

import "sync"

// Cache makes and keeps values. It is safe for concurrent use. A nil cache keeps nothing.
//
// When it is full, the entry that was made first and has not been used since the last search leaves: values that are used
// again and again stay, although callers choose the keys.
type Cache[K comparable, V any] struct {
	limits Limits[V]

	mu      sync.Mutex
	entries map[K]*entry[V] // guarded by mu
	order   []K             // in which entries were made or last spared; guarded by mu
	size    int             // of all values that have been made; guarded by mu
}

// Limits bound a cache.
type Limits[V any] struct {
	Entries int
	Bytes   int         // of all values together; 0 for no limit
	Size    func(V) int // of a value in bytes; needed with Bytes
}

// entry is a value, which is made outside the lock.
type entry[V any] struct {
	once  sync.Once
	value V
	made  bool // false when making it has panicked
	size  int  // guarded by the cache
	used  bool // since the last search for an entry to drop; guarded by the cache
}

// New makes a cache.
func New[K comparable, V any](limits Limits[V]) *Cache[K, V] {
	return &Cache[K, V]{limits: limits, entries: map[K]*entry[V]{}}
}

// Get gives the value of a key, making it if it is not kept. Callers that need the same value wait for the first one to make
// it; others do not wait.
func (c *Cache[K, V]) Get(key K, make func() V) V {
	if c == nil {
		return make()
	}
	found, known := c.find(key)
	found.once.Do(func() { found.value, found.made = make(), true })
	if !found.made {
		return make() // which panics again
	}
	if !known {
		c.weigh(key, found)
	}
	return found.value
}

// find gives the entry of a key, adding it if there is none.
func (c *Cache[K, V]) find(key K) (found *entry[V], known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, known = c.entries[key]; known {
		found.used = true
		return found, true
	}
	for len(c.entries) >= c.limits.Entries {
		c.dropLocked()
	}
	found = &entry[V]{}
	c.entries[key] = found
	c.order = append(c.order, key)
	return found, false
}

// weigh counts the size of a value that has just been made, and drops others until all fit.
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

// dropLocked drops the first entry that has not been used since the last search.
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

// Len is how many values are kept.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}
