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

// behindRelay starts a server and a relay to it.
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

// TestFaults lets every network fault come and go under load.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range relay.Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			address, set := behindRelay(t)
			fail(t, openShared(t, address), func() { set(fault) }, func() { set(relay.None) })
		})
	}
}

// TestScriptForgotten makes the server lose its scripts during bursts: no request fails. A burst without a loss
// follows each, so that no batch meets two: it is sent again only once.
func TestScriptForgotten(t *testing.T) {
	t.Parallel()
	const callers, bursts = 32, 50
	n := openSharedPatient(t, startServer(t).address())
	l := newLimiter(n, newName(), 60, time.Hour)
	var admitted atomic.Int64
	for burst := range bursts {
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				if burst%2 == 0 && caller == callers/2 {
					if err := n.client.ScriptFlush(t.Context()).Err(); err != nil {
						t.Error(err)
					}
				}
				admitted.Add(int64(admit(l, strconv.Itoa(burst), 1)))
			})
		}
		all.Wait()
	}
	if c := n.Counts(); admitted.Load() != callers*bursts || c.Shared != callers*bursts || c.Fallbacks != 0 {
		t.Errorf("%d of %d admitted, %+v", admitted.Load(), callers*bursts, c)
	}
}

// TestCluster_WindowMoves moves the window's slot to another server: the old one responds with its address.
func TestCluster_WindowMoves(t *testing.T) {
	t.Parallel()
	servers, address := startCluster(t, steadyCluster)
	n := openSharedPatient(t, address)
	l := newLimiter(n, newName(), 60, time.Hour)
	slot := n.client.ClusterKeySlot(t.Context(), l.name("ada")).Val()
	owner, err := n.client.(*redis.ClusterClient).MasterForKey(t.Context(), l.name("ada"))
	if err != nil {
		t.Fatal(err)
	}
	do := func(client redis.UniversalClient, args ...any) string {
		t.Helper()
		reply, err := client.Do(t.Context(), append([]any{"cluster"}, args...)...).Text()
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	var heir redis.UniversalClient
	var others []redis.UniversalClient
	for _, s := range servers {
		client := openPatient(t, s.address()).client
		if heir == nil && client.(*redis.Client).Options().Addr != owner.Options().Addr {
			heir = client
		} else {
			others = append(others, client)
		}
	}
	heirID := do(heir, "myid")
	// Importing first gives the heir the newest claim, which messages under way cannot undo.
	do(heir, "setslot", slot, "importing", do(owner, "myid"))
	do(heir, "setslot", slot, "node", heirID)
	for _, other := range others {
		do(other, "setslot", slot, "node", heirID)
	}
	if got := admit(l, "ada", 100); got != 60 || n.Counts().Fallbacks != 0 {
		t.Errorf("%d admitted, want 60; %+v; log %s", got, n.Counts(), n.log.text())
	}
}
