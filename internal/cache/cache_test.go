package cache

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func size(text string) int { return len(text) }

func TestGet_MakesEachValueOnce(t *testing.T) {
	t.Parallel()
	c := New[string](Limits[int]{Entries: 4})
	var made atomic.Int32
	release := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got := c.Get("key", func() int {
				<-release
				made.Add(1)
				return 7
			})
			if got != 7 {
				t.Errorf("got %d, want 7", got)
			}
		})
	}
	close(release)
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

// A slow value must not block another.
func TestGet_OtherKeysDoNotWait(t *testing.T) {
	t.Parallel()
	c := New[string](Limits[int]{Entries: 4})
	started, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { c.Get("slow", func() int { close(started); <-release; return 1 }) })
	<-started
	if got := c.Get("fast", func() int { return 2 }); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
	close(release)
	wg.Wait()
}

func TestGet_Nil(t *testing.T) {
	t.Parallel()
	var c *Cache[string, int]
	made := 0
	for range 2 {
		c.Get("key", func() int { made++; return made })
	}
	if made != 2 {
		t.Errorf("a nil cache made the value %d times, want 2", made)
	}
}

func TestGet_Bounds(t *testing.T) {
	t.Parallel()
	f := func(name string, limits Limits[string], keys []string, kept ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New[string](limits)
			for _, key := range keys {
				c.Get(key, func() string { return key })
			}
			if c.Len() != len(kept) {
				t.Errorf("%d values are kept, want %d", c.Len(), len(kept))
			}
			for _, key := range kept {
				c.Get(key, func() string { t.Errorf("%s is not kept", key); return key })
			}
		})
	}
	three := Limits[string]{Entries: 3}
	f("room left", three, []string{"a", "b"}, "a", "b")
	f("the oldest leaves", three, []string{"a", "b", "c", "d"}, "b", "c", "d")
	f("what is used stays", three, []string{"a", "b", "c", "a", "d", "a", "e"}, "a", "d", "e")
	f("used again and again, but not lately", three, []string{"a", "a", "a", "b", "c", "d"}, "b", "c", "d")
	f("all used: the oldest leaves", three, []string{"a", "b", "c", "a", "b", "c", "d"}, "b", "c", "d")
	bytes := Limits[string]{Entries: 10, Bytes: 5, Size: size}
	f("by size", bytes, []string{"aa", "bb", "cc"}, "bb", "cc")
	f("larger than all", bytes, []string{"aa", "abcdef"})
	f("one large value drops several", bytes, []string{"a", "b", "c", "dddd"}, "c", "dddd")
}

// A value that could not be made is not taken for one that is zero.
func TestGet_PanicIsRepeated(t *testing.T) {
	t.Parallel()
	c := New[string](Limits[int]{Entries: 4})
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			c.Get("key", func() int { panic("a bug") })
		}()
	}
}

// All that wait for a value get the error, and the next caller tries again.
func TestTry_FailureIsNotKept(t *testing.T) {
	t.Parallel()
	c := New[string](Limits[string]{Entries: 4, Bytes: 100, Size: size})
	broken := errors.New("broken")
	if _, err := c.Try("key", func() (string, error) { return "", broken }); !errors.Is(err, broken) || c.Len() != 0 {
		t.Errorf("the error is %v, and %d entries are kept", err, c.Len())
	}
	for range 2 {
		got, err := c.Try("key", func() (string, error) { return "value", nil })
		if got != "value" || err != nil || c.Len() != 1 {
			t.Errorf("got %q, %v, and %d entries are kept", got, err, c.Len())
		}
	}
}

// A full cache keeps what it has, and does not even compute a new value.
func TestGetIfRoom_FullCacheStays(t *testing.T) {
	t.Parallel()
	f := func(name string, limits Limits[string]) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New[int](limits)
			for key := range 3 {
				if value, ok := c.GetIfRoom(key, func() string { return "value" }); !ok || value != "value" {
					t.Errorf("key %d has the value %q, %v", key, value, ok)
				}
			}
			_, ok := c.GetIfRoom(3, func() string { t.Error("computed a value for a full cache"); return "" })
			if ok || c.Len() != 3 {
				t.Errorf("a fourth value was added: %v, %d entries", ok, c.Len())
			}
			if value, ok := c.GetIfRoom(0, nil); !ok || value != "value" {
				t.Errorf("the first value is %q, %v", value, ok)
			}
		})
	}
	f("by entries", Limits[string]{Entries: 3})
	f("by size", Limits[string]{Entries: 10, Bytes: 15, Size: size})
	var none *Cache[int, string]
	if _, ok := none.GetIfRoom(1, nil); ok {
		t.Error("a nil cache has room")
	}
}

func TestClear(t *testing.T) {
	t.Parallel()
	c := New[int](Limits[string]{Entries: 2, Bytes: 3, Size: func(s string) int { return len(s) }})
	c.Get(1, func() string {
		c.Clear() // while it is computed
		return "abc"
	})
	if c.Len() != 0 {
		t.Error("a value is held that was being computed")
	}
	for round := range 3 {
		value, ok := c.GetIfRoom(round, func() string { return "abc" })
		if !ok || value != "abc" || c.Len() != 1 {
			t.Errorf("round %d: %q, %v, %d entries", round, value, ok, c.Len())
		}
		c.Clear()
	}
}

// The value that was used last is returned without a look at the entries. It must go when its entry goes.
func TestGet_LastUsedIsDropped(t *testing.T) {
	t.Parallel()
	made := 0
	compute := func() int { made++; return made }
	f := func(name string, entries int, drop func(*Cache[string, int])) {
		t.Run(name, func(t *testing.T) {
			c := New[string](Limits[int]{Entries: entries})
			made = 0
			c.Get("key", compute)
			if again := c.Get("key", compute); again != 1 {
				t.Errorf("the second use gets %d, want the value of the first", again)
			}
			drop(c)
			if after := c.Get("key", compute); after != 2 {
				t.Errorf("after it was dropped: %d, want a value made again", after)
			}
		})
	}
	f("by Clear", 4, (*Cache[string, int]).Clear)
	f("by another", 1, func(c *Cache[string, int]) { c.Get("other", func() int { return 0 }) })
	f("by its failure", 4, func(c *Cache[string, int]) {
		c.Clear()
		_, _ = c.Try("key", func() (int, error) { return 0, errors.New("no luck") })
	})
}
