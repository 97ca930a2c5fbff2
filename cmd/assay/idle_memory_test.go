package main

import "testing"

func TestBurstWatch(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	f := func(want bool, periods ...uint64) {
		t.Helper()
		var w burstWatch
		over := false
		for _, allocated := range periods {
			over = w.isOver(allocated)
		}
		if over != want {
			t.Errorf("after %v bytes in a period, a burst is over: %v, want %v", periods, over, want)
		}
	}
	f(false, 0)
	f(false, 200*mb, 0)                       // too little to be worth a collection
	f(false, 4000*mb)                         // it lasts
	f(false, 4000*mb, 600*mb)                 // it is fading
	f(false, 4000*mb, 400*mb)                 // it may continue
	f(true, 4000*mb, 400*mb, 400*mb)          // it has ended
	f(false, 4000*mb, 400*mb, 600*mb)         // it has not
	f(true, 300*mb, 4000*mb, 100*mb, 100*mb)  // whichever period was the highest
	f(false, 4000*mb, 100*mb, 100*mb, 100*mb) // once for each burst
	f(true, 4000*mb, 100*mb, 100*mb, 500*mb, 10*mb, 10*mb)
}
