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

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/web"
)

// signInServer is a real server that counts the passwords it hashes, each of which waits for release.
type signInServer struct {
	t       *testing.T
	address string
}

// guess tries to sign in, each time as another account and from another address, and reports the response.
func (s *signInServer) guess(ctx context.Context, n int) (status int, header http.Header, body string) {
	return s.signIn(ctx, fmt.Sprintf("p%d@example.com", n), "X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", n/256, n%256))
}

// signIn sends a request to sign in with another header.
func (s *signInServer) signIn(
	ctx context.Context, email, name, value string,
) (status int, header http.Header, body string) {
	text := strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, email, apitest.Password))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/api/session", text)
	if err != nil {
		s.t.Error(err)
		return 0, nil, ""
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(name, value)
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
// response is a 503, except to a browser that has signed in before. A client that hangs up leaves the queue.
func TestHashing_Flood(t *testing.T) {
	t.Parallel()
	r := apitest.New(t, apitest.TrustProxies("127.0.0.0/8"), func(c *apitest.Config) {
		c.Web.Requests, c.Web.Log = io.Discard, slog.New(slog.DiscardHandler)
	})
	const owner = "owner@example.com"
	_, err := r.Accounts.AddAccount(t.Context(), owner, "", apitest.Password, false)
	r.Must(err)
	in, err := r.Accounts.SignIn(t.Context(), account.Client{}, owner, apitest.Password)
	r.Must(err)
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
	full := hashing.PlacesUnknown()
	impatient, hangUp := context.WithCancel(t.Context())
	for range full - 1 {
		begin(t.Context())
	}
	storetest.Eventually(t, "the queue has one place left", func() bool { return hashing.Taken() == full-1 })
	begin(impatient)
	storetest.Eventually(t, "the queue is full", func() bool { return hashing.Taken() == full })

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
	storetest.Eventually(t, "who hung up has left the queue", func() bool { return hashing.Taken() == full-1 })
	begin(t.Context()) // gets the place
	storetest.Eventually(t, "the queue is full again", func() bool { return hashing.Taken() == full })

	known := make(chan int)
	go func() {
		status, _, _ := server.signIn(t.Context(), owner, "Cookie", web.DeviceCookie+"="+in.Device.Reveal())
		known <- status
	}()
	storetest.Eventually(t, "a known browser waits too", func() bool { return hashing.Taken() == full+1 })

	close(release)
	for range full {
		if status := <-statuses; status != http.StatusUnauthorized {
			t.Errorf("a guess got %d", status)
		}
	}
	if status := <-known; status != http.StatusOK {
		t.Errorf("the known browser got %d", status)
	}
	if most := hashing.Most.Load(); most != int64(hashing.Hashers()) {
		t.Errorf("%d passwords were hashed at once, want %d", most, hashing.Hashers())
	}
	storetest.Eventually(t, "the queue is empty", func() bool { return hashing.Taken() == 0 })
}
