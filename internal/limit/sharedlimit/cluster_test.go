package sharedlimit

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/testenv"
)

// startCluster starts a cluster of three servers without replicas.
func startCluster(t *testing.T) (servers []*server, address string) {
	t.Helper()
	testenv.Require(t, testenv.Redis)
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("NOT COVERED: there is no redis-cli on this machine to make a cluster with; scripts/need redis-server installs it")
	}
	create := []string{"--cluster", "create"}
	var hosts []string
	for range 3 {
		s := startServer(t, "--cluster-enabled", "yes", "--cluster-port", sparePort(t), "--cluster-node-timeout", "1000")
		servers = append(servers, s)
		hosts = append(hosts, "127.0.0.1:"+s.port)
	}
	out, err := exec.Command("redis-cli", append(append(create, hosts...), "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("make a cluster: %v\n%s", err, out)
	}
	return servers, "redis://" + strings.Join(hosts[:2], ",") // the third is found by asking
}

func TestCluster(t *testing.T) {
	servers, address := startCluster(t)
	n, m := openShared(t, address).patient(), openShared(t, address).patient()
	name := newName()
	a, b := newLimiter(n, name, 10, time.Minute), newLimiter(m, name, 10, time.Minute)
	for i := range 100 {
		client := strconv.Itoa(i)
		if first, second := admit(a, client, 6), admit(b, client, 6); first != 6 || second != 4 {
			t.Fatalf("client %d: %d and %d admitted, want 6 and 4", i, first, second)
		}
	}
	for _, s := range servers {
		size, err := openNode(t, s.address()).client.DBSize(t.Context()).Result()
		if err != nil || size < 10 {
			t.Errorf("a server holds %d of 100 windows, error %v", size, err)
		}
	}
}

// TestCluster_OneServerKilled loses the windows of a third of the clients, and with them the cluster until it is back.
func TestCluster_OneServerKilled(t *testing.T) {
	servers, address := startCluster(t)
	n := openShared(t, address)
	w := startLoad(newLimiter(n, newName(), 60, time.Minute))
	w.more(500)
	servers[2].kill()
	n.hears(t, "Redis is slow or away")
	w.more(500)
	if !servers[2].start() {
		t.Fatal("redis-server does not start again")
	}
	n.hears(t, "shared through Redis again")
	w.more(500)
	w.end(t)
}

// TestCluster_OneServerSilent has two servers answer while the third does not: that they do must not hide it.
func TestCluster_OneServerSilent(t *testing.T) {
	servers, address := startCluster(t)
	n := openShared(t, address)
	w := startLoad(newLimiter(n, newName(), 60, time.Minute))
	w.more(500)
	servers[2].signal(syscall.SIGSTOP)
	n.hears(t, "Redis is slow or away")
	w.more(500)
	servers[2].signal(syscall.SIGCONT)
	n.hears(t, "shared through Redis again")
	w.more(500)
	w.end(t)
}
