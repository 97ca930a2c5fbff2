package sharedlimit

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/tools/relay"
)

// behindRelay is a server of the test's own and a relay to it.
func behindRelay(t *testing.T) (address string, set func(relay.Fault)) {
	t.Helper()
	r, err := relay.Open("127.0.0.1:" + startServer(t).port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return "redis://" + r.Address(), func(fault relay.Fault) {
		t.Helper()
		if err := r.Set(fault); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFaults has every way in which a network fails come and go under load: every request is decided, and in time.
func TestFaults(t *testing.T) {
	for _, fault := range relay.Faults {
		t.Run(string(fault), func(t *testing.T) {
			address, set := behindRelay(t)
			n := openShared(t, address)
			w := startLoad(newLimiter(n, newName(), 60, time.Minute))
			w.more(200)
			set(fault)
			n.hears(t, "Redis is slow or away")
			turned := n.Counts()
			w.more(500)
			// Only those who were under way may have waited in vain, one request of each caller.
			if late := n.Counts().Late - turned.Late; late > loadCallers {
				t.Errorf("%d requests waited in vain after the node had turned", late)
			}
			set(relay.None)
			n.hears(t, "shared through Redis again")
			w.more(200)
			w.end(t)
			c := n.Counts()
			if c.Fallbacks == 0 || c.Alone < 500 || c.Shared == 0 || c.Shared+c.Alone != w.calls.Load() {
				t.Errorf("%d calls, %+v", w.calls.Load(), c)
			}
		})
	}
}

// TestScriptForgotten has the server lose its scripts again and again while a burst goes on: nobody notices.
func TestScriptForgotten(t *testing.T) {
	n := openShared(t, startServer(t).address()).patient()
	l := newLimiter(n, newName(), 60, time.Minute)
	var admitted atomic.Int64
	var callers sync.WaitGroup
	for caller := range 32 {
		callers.Go(func() {
			for i := range 50 {
				if l.Allow(strconv.Itoa(i), 0).Allowed {
					admitted.Add(1)
				}
				if caller == 0 && i%5 == 0 {
					if err := n.client.ScriptFlush(t.Context()).Err(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	callers.Wait()
	if c := n.Counts(); admitted.Load() != 32*50 || c.Shared != 32*50 || c.Fallbacks != 0 {
		t.Errorf("%d of %d admitted, %+v", admitted.Load(), 32*50, c)
	}
}

// TestCluster_WindowMoves gives the window's slot to another server: the node learns of it by the answer.
func TestCluster_WindowMoves(t *testing.T) {
	servers, address := startCluster(t)
	n := openShared(t, address).patient()
	l := newLimiter(n, newName(), 60, time.Minute)
	slot := n.client.ClusterKeySlot(t.Context(), l.name("ada")).Val()
	owner, err := n.client.(*redis.ClusterClient).MasterForKey(t.Context(), l.name("ada"))
	if err != nil {
		t.Fatal(err)
	}
	var heir string
	for _, s := range servers {
		if client := openNode(t, s.address()).client; client.(*redis.Client).Options().Addr != owner.Options().Addr {
			heir = client.Do(t.Context(), "cluster", "myid").Val().(string)
		}
	}
	for _, s := range servers {
		if err := openNode(t, s.address()).client.Do(t.Context(), "cluster", "setslot", slot, "node", heir).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := admit(l, "ada", 100); got != 60 || n.Counts().Fallbacks != 0 {
		t.Errorf("%d admitted, want 60; %+v", got, n.Counts())
	}
}
