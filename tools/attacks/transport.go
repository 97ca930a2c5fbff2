//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/assaydata/assay/tools/target"
)

func plainCookie(ctx context.Context, s *site) (effect, error) {
	server, err := s.serve(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	request, err := server.SignIn(ctx, s.account("premium"), "192.0.2.1")
	if err != nil {
		return effect{}, err
	}
	request.Header.Set("X-Forwarded-Proto", "https")
	_, header, err := server.Do(request, http.StatusOK)
	if err != nil {
		return effect{}, err
	}
	for _, cookie := range (&http.Response{Header: header}).Cookies() {
		if !strings.HasSuffix(cookie.Name, target.SessionCookie) {
			continue
		}
		strict := header.Get("Strict-Transport-Security") != ""
		return harmIf(!cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") || !strict,
			"cookie `%s`, Secure: %s; `Strict-Transport-Security`: %s", cookie.Name, yes(cookie.Secure), yes(strict)), nil
	}
	return effect{}, errors.New("signing in set no session cookie")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func cachedWithoutOrigin(ctx context.Context, s *site) (effect, error) {
	server, err := s.serve(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL(pricePath), nil)
	if err != nil {
		return effect{}, err
	}
	_, header, err := server.Do(request, http.StatusOK)
	if header.Get("Access-Control-Allow-Origin") == "*" {
		return harmIf(false, "other pages may read it"), err
	}
	return harmIf(true, "no `Access-Control-Allow-Origin`: other pages cannot read it"), err
}

func twoHeaders(ctx context.Context, s *site) (effect, error) {
	var flags []string
	if s.has(ctx, "serve", "--proxy-header") {
		flags = []string{"--proxy-header", "Forwarded"}
	}
	server, err := s.serve(ctx, flags...)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	const limit = 60 // of an address without a key, a minute
	served := 0
	for i := range 100 {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL(pricePath), nil)
		if err != nil {
			return effect{}, err
		}
		request.Header.Set("Forwarded", "for=198.51.100.1")
		request.Header.Set("X-Forwarded-For", fmt.Sprintf("10.3.0.%d", i))
		status, _, err := send(server.Client, request)
		if err != nil {
			return effect{}, err
		}
		if status == http.StatusOK {
			served++
		}
	}
	return harmIf(served > limit, "%d served, with a limit of %d", served, limit), nil
}

func noisyLog(ctx context.Context, s *site) (effect, error) {
	command := s.serveCommand()
	command.Name = "noisy" // a log of its own
	server, err := target.Start(ctx, command)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	for i := range 50 {
		if err := hangUp(server.Address, i); err != nil {
			return effect{}, err
		}
	}
	secret := s.market.Full
	request, err := http.NewRequestWithContext(ctx, secret, server.URL(pricePath), nil)
	if err != nil {
		return effect{}, err
	}
	if _, _, err := send(server.Client, request); err != nil {
		return effect{}, err
	}
	server.Stop() // it logs before it ends
	text, err := os.ReadFile(server.Log)
	if err != nil {
		return effect{}, err
	}
	failures := strings.Count(string(text), `"level":"ERROR"`)
	shown := strings.Contains(string(text), secret)
	return harmIf(failures > 0 || shown, "key in the log: %s; %d errors in the log", yes(shown), failures), nil
}

// hangUp signs in and resets the connection before the response.
func hangUp(address string, n int) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	body := fmt.Sprintf(`{"email":"person%d@example.com","password":"a wrong password"}`, n)
	_, err = fmt.Fprintf(conn, "POST /api/session HTTP/1.1\r\nHost: assay.example\r\nX-Forwarded-For: 10.4.0.%d\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n, len(body), body)
	return errors.Join(err, conn.(*net.TCPConn).SetLinger(0))
}
