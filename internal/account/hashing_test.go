package account_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/store/storetest"
)

// signInServer is a real server that counts the passwords it hashes, each of which waits for release.
type signInServer struct {
	t       *testing.T
	address string
}

// guess tries to sign in, each time as another account and from another address, and reports the response.
func (s *signInServer) guess(ctx context.Context, n int) (status int, header http.Header, body string) {
	text := strings.NewReader(fmt.Sprintf(`{"email":"p%d@example.com","password":"wrong horse battery"}`, n))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/api/session", text)
	if err != nil {
		s.t.Error(err)
		return 0, nil, ""
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", n/256, n%256))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Error(err)
	}
	return response.StatusCode, response.Header, string(content)
}

// A flood of guesses hashes at most half of the cores' worth at once and waits in a queue that has an end. Past it the
// response is a 503, and a client that hangs up leaves the queue.
func TestHashing_Flood(t *testing.T) {
	t.Parallel()
	r := apitest.New(t, apitest.TrustProxies("127.0.0.0/8"), func(c *apitest.Config) {
		c.Web.Requests, c.Web.Log = io.Discard, slog.New(slog.DiscardHandler)
	})
	release := make(chan struct{})
	hashing := r.Accounts.HoldHashes(release)
	if n, cores := hashing.Hashers(), runtime.GOMAXPROCS(0); n < 1 || n > max(1, cores/2) {
		t.Errorf("%d passwords may be hashed at once on %d cores", n, cores)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	r.Must(err)
	storetest.Run(t, func(ctx context.Context) error { return r.Serve(ctx, listener) })
	server := &signInServer{t, listener.Addr().String()}

	guesses, statuses := 0, make(chan int)
	begin := func(ctx context.Context) {
		guesses++
		n := guesses
		go func() {
			status, _, _ := server.guess(ctx, n)
			statuses <- status
		}()
	}
	impatient, hangUp := context.WithCancel(t.Context())
	for range hashing.Places() - 1 {
		begin(t.Context())
	}
	storetest.Eventually(t, "the queue has one place left", func() bool { return hashing.Taken() == hashing.Places()-1 })
	begin(impatient)
	storetest.Eventually(t, "the queue is full", func() bool { return hashing.Taken() == hashing.Places() })

	for n := range 300 {
		status, header, body := server.guess(t.Context(), 1000+n)
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "2" || !strings.HasPrefix(body,
			`{"error":"Service unavailable","message":"Too many sign-ins at the moment. Retry in 2 seconds.","code":"busy",`) {
			t.Fatalf("with a full queue: %d %v %s", status, header, body)
		}
	}
	hangUp()
	if status := <-statuses; status != 0 {
		t.Errorf("a client that hung up got %d", status)
	}
	storetest.Eventually(t, "who hung up has left the queue", func() bool { return hashing.Taken() == hashing.Places()-1 })
	begin(t.Context()) // gets the place
	storetest.Eventually(t, "the queue is full again", func() bool { return hashing.Taken() == hashing.Places() })

	close(release)
	for range hashing.Places() {
		if status := <-statuses; status != http.StatusUnauthorized {
			t.Errorf("a guess got %d", status)
		}
	}
	if most := hashing.Most.Load(); most != int64(hashing.Hashers()) {
		t.Errorf("%d passwords were hashed at once, want %d", most, hashing.Hashers())
	}
	storetest.Eventually(t, "the queue is empty", func() bool { return hashing.Taken() == 0 })
}
