package httpapi

import (
	"bytes"
	"sync"
)

// kept are the answers of a model that are asked again and again, made and compressed once. They live as long as the
// model: the next import that brings something new starts without. A nil kept keeps nothing.
type kept struct {
	mu     sync.Mutex
	bodies map[string]*keptBody // by tag
	size   int                  // of all bodies in all codings
}

type keptBody struct {
	once sync.Once
	body *body
}

// keptRoom and keptBytes bound what one model keeps: callers choose where their ranges begin, so there is no end to what
// they could ask for.
const (
	keptRoom  = 512
	keptBytes = 16 << 20
)

// keptIn gives where the answer to a call is kept: of past moments, which are many, nothing is.
func (c *call) keptIn(k *kept) *kept {
	if c.asOf {
		return nil
	}
	return k
}

// place gives the place of an answer, or nil when there is no room for more.
func (k *kept) place(tag string) *keptBody {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.bodies[tag]
	if found == nil && len(k.bodies) < keptRoom && k.size < keptBytes {
		if k.bodies == nil {
			k.bodies = map[string]*keptBody{}
		}
		found = &keptBody{}
		k.bodies[tag] = found
	}
	return found
}

// fill puts a body into its place.
func (k *kept) fill(place *keptBody, b *body) {
	place.body = b
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, form := range b.forms {
		k.size += len(form.payload)
	}
}

// rows gives an answer of rows as a body that is kept, or as it is when there is no room. Nobody can tell which from the
// text or the ETag.
func (k *kept) rows(a answer) answer {
	place := k.place(a.tag)
	if place == nil {
		return a
	}
	place.once.Do(func() {
		var raw bytes.Buffer
		a.writeTo(&raw)
		k.fill(place, newTaggedBody(raw.Bytes(), a.tag, a.modified))
	})
	return answer{body: place.body, brief: a.brief}
}

// object gives what make makes as a body that is kept, if there is room.
func (k *kept) object(tag string, make func() (answer, error)) (answer, error) {
	place := k.place(tag)
	if place == nil {
		return make()
	}
	place.once.Do(func() {
		if a, err := make(); err == nil {
			k.fill(place, a.body)
		}
	})
	if place.body == nil {
		return make() // which fails again, and says why
	}
	return ready(place.body), nil
}
