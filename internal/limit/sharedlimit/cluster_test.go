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

// The time after which servers of a cluster take another for lost.
const (
	steadyCluster = "600000" // milliseconds; a busy machine must not break the cluster
	quickCluster  = "1000"
)

// startCluster starts a cluster of three servers without replicas.
func startCluster(t *testing.T, nodeTimeout string) (servers []*server, address string) {
	t.Helper()
	testenv.Require(t, testenv.Redis)
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("NOT COVERED: making a cluster needs redis-cli; scripts/need redis-server installs it")
	}
	var hosts []string
	for range 3 {
		s := startServer(t, "--cluster-enabled", "yes", "--cluster-port", sparePort(t), "--cluster-node-timeout", nodeTimeout)
		servers = append(servers, s)
		hosts = append(hosts, "127.0.0.1:"+s.port)
	}
	args := append([]string{"--cluster", "create"}, hosts...)
	out, err := exec.Command("redis-cli", append(args, "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("make a cluster: %v\n%s", err, out)
	}
	for _, s := range servers {
		s.awaitCluster()
	}
	return servers, "redis://" + strings.Join(hosts[:2], ",") // the client discovers the third
}

// awaitCluster returns once the server takes requests as part of its cluster, which is a little after the cluster was
// made.
func (s *server) awaitCluster() {
	s.t.Helper()
	client := openPatient(s.t, s.address()).client
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for ; ; <-poll.C {
		info, err := client.ClusterInfo(s.t.Context()).Result()
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return
		}
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	servers, address := startCluster(t, steadyCluster)
	n, m := openSharedPatient(t, address), openSharedPatient(t, address)
	name := newName()
	a, b := newLimiter(n, name, 10, time.Hour), newLimiter(m, name, 10, time.Hour)
	for i := range 100 {
		client := strconv.Itoa(i)
		if first, second := admit(a, client, 6), admit(b, client, 6); first != 6 || second != 4 {
			t.Fatalf("client %d: %d and %d admitted, want 6 and 4; logs %s, %s", i, first, second, n.log.text(), m.log.text())
		}
	}
	for _, s := range servers {
		size, err := openPatient(t, s.address()).client.DBSize(t.Context()).Result()
		if err != nil || size < 10 {
			t.Errorf("a server holds %d of 100 windows, error %v", size, err)
		}
	}
}

// TestCluster_OneServerKilled loses the windows of a third of the clients, and the whole cluster until the server is
// back.
func TestCluster_OneServerKilled(t *testing.T) {
	t.Parallel()
	servers, address := startCluster(t, quickCluster)
	fail(t, openShared(t, address), servers[2].kill, servers[2].restart)
}

// TestCluster_OneServerSilent shows that the replies of two servers do not hide that the third is silent.
func TestCluster_OneServerSilent(t *testing.T) {
	t.Parallel()
	servers, address := startCluster(t, quickCluster)
	silent := servers[2]
	fail(t, openShared(t, address), func() { silent.signal(syscall.SIGSTOP) }, func() { silent.signal(syscall.SIGCONT) })
}
