package httpapi

import (
	"sync"
	"testing"
)

// TestKept_ManyAtOnce: of those who ask for an answer at the same time one makes it, and all get it.
func TestKept_ManyAtOnce(t *testing.T) {
	var k kept
	var wg sync.WaitGroup
	made := 0 // guarded by the place's once
	bodies := make([]*body, 8)
	for i := range bodies {
		wg.Go(func() {
			a := k.rows(answer{head: []byte(`{"data":[`), tag: "tag", count: 1, row: func(dst []byte, _ int) []byte {
				made++
				return append(dst, '1')
			}})
			bodies[i] = a.body
		})
	}
	wg.Wait()
	for _, b := range bodies {
		if b != bodies[0] || string(b.forms[identity].payload) != `{"data":[1]}` {
			t.Errorf("the body is %s", b.forms[identity].payload)
		}
	}
	if made != 1 || k.size != len(`{"data":[1]}`) {
		t.Errorf("it was made %d times, and %d bytes are kept", made, k.size)
	}
}
