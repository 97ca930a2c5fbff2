//go:build linux

package hasher

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	m.Run()
}

// cheap are the least that argon2id allows.
var cheap = Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

func newHasher(t *testing.T) *Hasher {
	t.Helper()
	h := New(slog.New(slog.NewTextHandler(t.Output(), nil)))
	t.Cleanup(h.Close)
	return h
}

// wantHashes checks that a hasher makes a hash that matches its password, and no other.
func wantHashes(t *testing.T, h *Hasher, password string) {
	t.Helper()
	hash, err := h.Create(password, cheap)
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Fatalf("the hash is %q (%v)", hash, err)
	}
	for given, want := range map[string]bool{password: true, password + "x": false, "": false} {
		if got, err := h.Matches(given, hash); got != want || err != nil {
			t.Errorf("%q matches the hash of %q: %t (%v), want %t", given, password, got, err, want)
		}
	}
}

// onlyHelper is the one process of a hasher.
func onlyHelper(t *testing.T, h *Hasher) *helper {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.idle) != 1 {
		t.Fatalf("there are %d processes, want 1", len(h.idle))
	}
	return h.idle[0]
}

// awaitEnd waits for the end of a process.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Errorf("the process %d has not ended", pid)
}

func TestHasher_Passwords(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	for _, password := range []string{
		"correct horse battery staple", "пароль из многих слов", "not\xffUTF-8\x00at all", strings.Repeat("長", 128),
	} {
		wantHashes(t, h, password)
		wantHashes(t, nil, password)
	}
	onlyHelper(t, h)
}

// Both ways make and read the same hashes.
func TestHasher_SameHashes(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	hash, err := h.Create("the password", cheap)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := (*Hasher)(nil).Matches("the password", hash); !ok || err != nil {
		t.Errorf("a hash of the process does not match here (%v)", err)
	}
}

// The process has a lower priority in all its threads, and of this one's secrets only the passwords.
func TestHasher_ProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	wantHashes(t, h, "the password")
	pid := onlyHelper(t, h).pid
	if pid == os.Getpid() {
		t.Fatal("it is this process")
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatal(tasks, err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, task.Name()))
		if err != nil {
			continue // the thread has ended
		}
		_, after, _ := strings.Cut(string(stat), ") ") // the name may have spaces
		if nice := strings.Fields(after)[16]; nice != strconv.Itoa(niceness) {
			t.Errorf("a thread has the niceness %s, want %d", nice, niceness)
		}
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || string(environment) != "GOMAXPROCS=1\x00" {
		t.Errorf("its environment is %q (%v)", environment, err)
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || string(arguments) != "/proc/self/exe\x00hash-passwords\x00" {
		t.Errorf("its arguments are %q (%v)", arguments, err)
	}
	if nice, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); nice != 20 || err != nil { // the kernel's 20 is 0
		t.Errorf("this process got another priority, too: %d (%v)", 20-nice, err)
	}
}

// It ends with the hasher, and not before: a signal to the whole group of processes is for the server.
func TestHasher_Ends(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	wantHashes(t, h, "the password")
	pid := onlyHelper(t, h).pid
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	wantHashes(t, h, "the password")
	if now := onlyHelper(t, h).pid; now != pid {
		t.Errorf("the process ended with a signal, and %d replaced %d", now, pid)
	}
	h.Close()
	awaitEnd(t, pid)
}

// A process that dies is replaced, and no sign-in fails for it.
func TestHasher_Killed(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	wantHashes(t, h, "the password")
	pid := onlyHelper(t, h).pid
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
	wantHashes(t, h, "the password")
	if onlyHelper(t, h).pid == pid {
		t.Error("the process was not replaced")
	}
}

func TestHasher_AtOnce(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { wantHashes(t, h, fmt.Sprint("password ", i)) })
	}
	group.Wait()
}

// A damaged hash is an error, and not the end of the process.
func TestHasher_DamagedHash(t *testing.T) {
	t.Parallel()
	h := newHasher(t)
	for _, h := range []*Hasher{h, nil} {
		if ok, err := h.Matches("the password", "$argon2id$damaged"); ok || err == nil {
			t.Errorf("a damaged hash: %t, %v", ok, err)
		}
	}
	onlyHelper(t, h)
}
