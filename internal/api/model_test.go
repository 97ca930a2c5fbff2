package api

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// However many requests need a model of a past moment, few are built at a time. Some wait, but not for long, and the
// others are refused at once.
func TestPastModels_FewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPastModels()
		builders := cap(p.building)
		release := make(chan struct{})
		var building, refused atomic.Int32
		build := func() pastModel {
			building.Add(1)
			<-release
			return pastModel{}
		}
		request := func() {
			if _, err := p.build(build); errors.Is(err, errPastBusy) {
				refused.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		}
		want := func(when string, built, busy int) {
			t.Helper()
			synctest.Wait()
			if got := int(building.Load()); got != built {
				t.Errorf("%s: %d models were built, want %d", when, got, built)
			}
			if got := int(refused.Load()); got != busy {
				t.Errorf("%s: %d requests were refused, want %d", when, got, busy)
			}
		}
		for range builders + maxPastQueue {
			go request()
		}
		want("as many requests as may wait", builders, 0)
		go request()
		want("one more", builders, 1)
		release <- struct{}{}
		want("one is built", builders+1, 1)
		time.Sleep(maxPastWait)
		want("after the longest wait", builders+1, maxPastQueue)
		close(release)
		want("at the end", builders+1, maxPastQueue)
		go request()
		want("later", builders+2, maxPastQueue)
	})
}
