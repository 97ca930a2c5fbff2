package client

import (
	"container/list"
	"sync"
)

// cache holds the bodies of responses with their tags. When it is full, it forgets what was used longest ago.
type cache struct {
	entries, bytes int // how much it may hold

	mu    sync.Mutex
	used  int        // bytes, guarded by mu
	order *list.List // of *cached, those used last first; guarded by mu
	byURL map[string]*list.Element
}

// cached is a body that the cache holds. No one changes it.
type cached struct {
	url, tag string
	body     []byte
}

func (e *cached) size() int { return len(e.url) + len(e.tag) + len(e.body) }

// newCache makes a cache, or none if it may hold nothing.
func newCache(entries, bytes int) *cache {
	if entries <= 0 || bytes <= 0 {
		return nil
	}
	return &cache{entries: entries, bytes: bytes, order: list.New(), byURL: map[string]*list.Element{}}
}

// get finds the body of a URL; nil if there is none.
func (c *cache) get(url string) *cached {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byURL[url]
	if at == nil {
		return nil
	}
	c.order.MoveToFront(at)
	return at.Value.(*cached)
}

// put keeps a body in place of an earlier one of its URL. One that is larger than the whole cache is not kept.
func (c *cache) put(e *cached) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byURL[e.url])
	if e.size() > c.bytes {
		return
	}
	c.byURL[e.url] = c.order.PushFront(e)
	c.used += e.size()
	for c.used > c.bytes || c.order.Len() > c.entries {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(at *list.Element) {
	if at == nil {
		return
	}
	e := c.order.Remove(at).(*cached)
	delete(c.byURL, e.url)
	c.used -= e.size()
}
