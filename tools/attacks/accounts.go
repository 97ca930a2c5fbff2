//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assaydata/assay/tools/target"
)

// browser is a client that keeps cookies.
func browser() *http.Client {
	client := target.NewClient("127.0.0.1")
	client.Jar, _ = cookiejar.New(nil) // fails never
	return client
}

// signIn signs in and returns the status.
func signIn(ctx context.Context, client *http.Client, s *target.Server, a target.Account, from string) (int, error) {
	request, err := s.SignIn(ctx, a, from)
	if err != nil {
		return 0, err
	}
	status, _, err := send(client, request)
	return status, err
}

func lockOut(ctx context.Context, s *site) (effect, error) {
	server, err := s.serve(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	owner, device := s.account("premium"), browser()
	if status, err := signIn(ctx, device, server, owner, "192.0.2.1"); err != nil || status != http.StatusOK {
		return effect{}, errors.Join(err, fmt.Errorf("the owner's sign-in: status %d", status))
	}
	guess := owner
	guess.Password = "a wrong password"
	for range 10 {
		if _, err := signIn(ctx, server.Client, server, guess, "198.51.100.1"); err != nil {
			return effect{}, err
		}
	}
	status, err := signIn(ctx, device, server, owner, "192.0.2.1")
	if err != nil {
		return effect{}, err
	}
	if status != http.StatusOK {
		return harmIf(true, "the owner's device gets %d", status), nil
	}
	return harmIf(false, "the owner's device signs in"), nil
}

func guesses(ctx context.Context, s *site) (effect, error) {
	server, err := s.serveQuietly(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	owner, device := s.account("full"), browser()
	if status, err := signIn(ctx, device, server, owner, "192.0.2.1"); err != nil || status != http.StatusOK {
		return effect{}, errors.Join(err, fmt.Errorf("the owner's sign-in: status %d", status))
	}
	reader, err := startReader(ctx, server)
	if err != nil {
		return effect{}, err
	}
	defer reader.Stop()
	// The p99 of a moment is chance, so quiet, harmless requests and guesses take turns, and their medians count. Opening
	// 300 connections at once delays reads by itself where clients and server share two cores: what guesses may not do is
	// delay them more than harmless requests.
	var quiet, harmless, guessed []time.Duration
	var longest time.Duration // of the owner's sign-ins
	failed := 0
	for round := range s.scaled(9, 1) {
		phase := func(p99s *[]time.Duration, attack func() error) error {
			var attackErr error
			got, err := reader.While(func() { attackErr = attack() })
			*p99s, failed = append(*p99s, got.P99), failed+got.Failed
			return errors.Join(err, attackErr)
		}
		err := errors.Join(
			phase(&quiet, func() error { return pauseAfter(ctx, func() {}) }),
			phase(&harmless, func() error { return pauseAfter(ctx, func() { s.requestAtOnce(ctx, server, round) }) }),
			phase(&guessed, func() error {
				took, err := s.guessAtOnce(ctx, server, round, func() (time.Duration, error) {
					return persist(ctx, device, server, owner)
				})
				longest = max(longest, took)
				return err
			}))
		if err != nil {
			return effect{}, err
		}
	}
	of := func(p99s []time.Duration) float64 { return ratio(median(p99s), median(quiet)) }
	return harmIf(!s.short && (of(guessed) > 2*max(1, of(harmless)) || longest > 10*time.Second) || failed > 0,
		"a right password takes %.1f s; p99 of price reads %.1f× (%.1f ms), with as many harmless requests at once %.1f×",
		longest.Seconds(), of(guessed), median(guessed).Seconds()*1000, of(harmless)), nil
}

// pauseAfter calls a function, and pauses so that both take about as long as the guesses do.
func pauseAfter(ctx context.Context, f func()) error {
	end := time.Now().Add(1600 * time.Millisecond)
	f()
	if !target.Pause(ctx, time.Until(end)) {
		return ctx.Err()
	}
	return nil
}

// median is the middle one of several times; it sorts them.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// atOnce sends as many requests as there are guesses, each from an address of its own, calls meanwhile as soon as the
// first was answered and the others wait, and waits for them.
func (s *site) atOnce(round int, request func(n int, from string), meanwhile func()) {
	var group sync.WaitGroup
	defer group.Wait()
	busy := make(chan struct{})
	answered := sync.OnceFunc(func() { close(busy) })
	count := s.scaled(300, 60)
	for i := range count {
		n := round*count + i
		group.Go(func() {
			request(n, fmt.Sprintf("10.2.%d.%d", n>>8, n&255))
			answered()
		})
	}
	<-busy
	meanwhile()
}

func (s *site) guessAtOnce(
	ctx context.Context, server *target.Server, round int, meanwhile func() (time.Duration, error),
) (took time.Duration, err error) {
	s.atOnce(round, func(n int, from string) {
		guess := target.Account{Email: fmt.Sprintf("person%d@example.com", n), Password: "a wrong password"}
		signIn(ctx, server.Client, server, guess, from)
	}, func() { took, err = meanwhile() })
	return took, err
}

// requestAtOnce sends requests that cost the server next to nothing.
func (s *site) requestAtOnce(ctx context.Context, server *target.Server, round int) {
	s.atOnce(round, func(_ int, from string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL("/health"), nil)
		if err != nil {
			return
		}
		request.Header.Set("X-Forwarded-For", from)
		send(server.Client, request)
	}, func() {})
}

// persist signs in, again after each response that says the server is busy, and returns how long it took.
func persist(ctx context.Context, device *http.Client, s *target.Server, a target.Account) (time.Duration, error) {
	begun := time.Now()
	for {
		status, err := signIn(ctx, device, s, a, "192.0.2.1")
		if err != nil || status == http.StatusOK {
			return time.Since(begun), err
		}
		if status != http.StatusServiceUnavailable {
			return 0, fmt.Errorf("the owner's sign-in: status %d", status)
		}
		if !target.Pause(ctx, time.Second) {
			return 0, ctx.Err()
		}
	}
}

func rotations(ctx context.Context, s *site) (effect, error) {
	server, err := s.serve(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	token, err := server.Session(ctx, s.account("premium"), "192.0.2.1")
	if err != nil {
		return effect{}, err
	}
	id, err := createKey(ctx, server, token, "/api/create-api-key", `{"name":"rotated"}`)
	if err != nil {
		return effect{}, err
	}
	for range 150 {
		if _, err := createKey(ctx, server, token, "/api/keys/"+id+"/rotate", `{"grace_hours":168}`); err != nil {
			return effect{}, err
		}
	}
	active, err := activeKeys(ctx, server, token)
	return harmIf(active > 100, "%d active keys", active), err
}

// createKey returns the id of a key that a request creates, or nothing if it is refused.
func createKey(ctx context.Context, s *target.Server, token, path, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(path), strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.AddCookie(&http.Cookie{Name: target.SessionCookie, Value: token})
	response, err := s.Client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var created struct{ Data struct{ ID string } }
	err = json.NewDecoder(response.Body).Decode(&created)
	return created.Data.ID, err
}

func activeKeys(ctx context.Context, s *target.Server, token string) (active int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL("/api/keys"), nil)
	if err != nil {
		return 0, err
	}
	request.AddCookie(&http.Cookie{Name: target.SessionCookie, Value: token})
	body, _, err := s.Do(request, http.StatusOK)
	if err != nil {
		return 0, err
	}
	var list struct {
		Data []struct{ Status string }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return 0, err
	}
	for _, key := range list.Data {
		if key.Status == "active" {
			active++
		}
	}
	return active, nil
}

func oldSession(ctx context.Context, s *site) (effect, error) {
	server, err := s.serve(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	account, device := s.account("premium"), browser()
	if _, err := signIn(ctx, device, server, account, "192.0.2.1"); err != nil {
		return effect{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL("/api/account"), nil)
	if err != nil {
		return effect{}, err
	}
	for _, cookie := range device.Jar.Cookies(request.URL) {
		request.AddCookie(cookie)
	}
	if _, err := signIn(ctx, device, server, account, "192.0.2.1"); err != nil {
		return effect{}, err
	}
	status, _, err := send(server.Client, request)
	if status == http.StatusOK {
		return harmIf(true, "it still works"), err
	}
	return harmIf(false, "it no longer works (%d)", status), err
}

func weakPasswords(ctx context.Context, s *site) (effect, error) {
	accepted := 0
	for i, password := range []string{"password1234", "aaaaaaaaaaaa"} {
		got, err := s.command(ctx, nil, password+"\n", "account", "add", fmt.Sprintf("weak%d@example.com", i),
			"--password-stdin", "--dir", s.market.Folder)
		if err != nil {
			return effect{}, err
		}
		if got.success {
			accepted++
		}
	}
	return harmIf(accepted > 0, "%d of 2 accepted", accepted), nil
}
