package client_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assaydata/assay/client"
)

const secret = "sk_live_abc123_thisisthesecretpartofthekey"

func newTLSServer(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func TestNew_BaseURL(t *testing.T) {
	f := func(base, want string) {
		t.Helper()
		c, err := client.New(base)
		if err != nil || c.String() != "assay client of "+want {
			t.Errorf("%s: %v, %v, want %s", base, c, err, want)
		}
	}
	f("https://data.example", "https://data.example")
	f("https://data.example/", "https://data.example")
	f("http://127.0.0.1:8080", "http://127.0.0.1:8080")
	f("http://[::1]:8080/a%20b//", "http://[::1]:8080/a%20b")
	f("HTTPS://data.example", "https://data.example")
	t.Setenv("ASSAY_URL", "https://env.example")
	f("", "https://env.example")
	f("https://data.example", "https://data.example")
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	f := func(base, want string, options ...client.Option) {
		t.Helper()
		c, err := client.New(base, options...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v, want %s", base, c, err, want)
		}
	}
	f("", "base URL is missing")
	f("data.example", "must begin with https://")
	f("data.example:8080", "must begin with https://")
	f("127.0.0.1:8080/secret", "cannot be read")
	f("https://", "must begin with https://")
	f("file:///etc", "must begin with https://")
	f("https:data.example", "must begin with https://")
	f("https://me:secret@data.example", "must not have a user name")
	f("https://secret@data.example", "must not have a user name")
	f("https://data.example?key=secret", "query")
	f("https://data.example?", "query")
	f("https://data.example#", "fragment")
	f("https://data.example#secret", "fragment")
	f("https://data.example/\x00secret", "cannot be read")
	const base = "https://data.example"
	f(base, "API key has characters", client.WithKey("secret\n"))
	f(base, "API key has characters", client.WithKey("sec\x00ret"))
	f(base, "API key has characters", client.WithKey("secret key"))
	f(base, "API key has characters", client.WithKey("secret…"))
	f(base, "WithTimeout", client.WithTimeout(0))
	f(base, "WithRetries", client.WithRetries(-1))
	f(base, "WithMaxWait", client.WithMaxWait(-1))
	f(base, "WithHTTPClient", client.WithHTTPClient(nil))
	f(base, "WithSleep", client.WithSleep(nil))
}

// The key comes from the environment, unless the program gives one, or none.
func TestNew_Key(t *testing.T) {
	var sent http.Header
	url := serve(t, http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		sent = in.Header
		writeJSON(out, 200, regions)
	}))
	f := func(want string, options ...client.Option) {
		t.Helper()
		if _, err := newClient(t, url, options...).Regions(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := sent.Get("Authorization"); got != want {
			t.Errorf("it sends %q, want %q", got, want)
		}
	}
	t.Setenv("ASSAY_KEY", "of-the-environment")
	f("Bearer of-the-environment")
	f("Bearer given", client.WithKey("given"))
	f("", client.WithKey(""))
	if got := sent.Get("User-Agent"); got != "assay-go/"+client.Version {
		t.Errorf("the user agent is %q", got)
	}
}

// However a program prints a client, the key does not show.
func TestClient_HidesTheKey(t *testing.T) {
	t.Parallel()
	c := newClient(t, "https://data.example", client.WithKey(secret), client.WithCache(10, 1000))
	program := struct {
		Client *client.Client
		inside *client.Client
		copied client.Client
	}{c, c, *c} //nolint:govet // that is what someone might do
	encoded, err := json.Marshal(program)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(encoded), slog.AnyValue(program).String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, c), fmt.Sprintf(verb, *c), fmt.Sprintf(verb, program))
	}
	for _, text := range texts {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("the key shows in %s", text)
		}
	}
}

// A server that repeats the key does not get it into an error.
func TestClient_HidesTheKeyInErrors(t *testing.T) {
	t.Parallel()
	f := func(status int, body string) {
		t.Helper()
		c := respond(t, func(out http.ResponseWriter, in *http.Request) {
			key := strings.TrimPrefix(in.Header.Get("Authorization"), "Bearer ")
			out.Header().Set("X-Request-Id", key)
			out.Header().Set("Location", "https://"+key+".example/")
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(status)
			_, _ = out.Write([]byte(strings.ReplaceAll(body, "KEY", key)))
		}, client.WithKey(secret))
		_, err := c.Regions(t.Context())
		if e := failure(t, err); strings.Contains(fmt.Sprintf("%v %+v %v", err, *e, e.Err), secret) {
			t.Errorf("the key shows in %+v", *e)
		}
	}
	f(400, `{"error":"KEY","code":"KEY","message":"KEY","request_id":"KEY","param":"KEY","allowed":["KEY"],"free_from":"KEY"}`)
	f(500, `KEY`)
	f(302, ``)
	f(200, `{"success":true,"KEY":1}`)
	f(200, `{"success":"KEY"}`)
	f(200, `{"success":true,"count":1,"data":[{"region":KEY}]}`)
}

// The key does not follow a redirect.
func TestClient_DoesNotFollow(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	follows := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	c := respond(t, func(out http.ResponseWriter, in *http.Request) {
		http.Redirect(out, in, elsewhere, http.StatusPermanentRedirect)
	}, client.WithKey(secret), client.WithHTTPClient(follows))
	if _, err := c.Regions(t.Context()); failure(t, err).Code != "redirect" {
		t.Errorf("got %v", err)
	}
	if follows.CheckRedirect == nil {
		t.Error("the caller's client was changed")
	}
}

// A server may be under a path.
func TestClient_UnderAPath(t *testing.T) {
	t.Parallel()
	var path string
	url := serve(t, http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		path = in.RequestURI
		writeJSON(out, 200, regions)
	}))
	if _, err := newClient(t, url+"/market%2Fdata/").Regions(t.Context()); err != nil || path != "/market%2Fdata/api/regions" {
		t.Errorf("it requests %s, %v", path, err)
	}
}
