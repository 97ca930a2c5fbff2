//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
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
	// A p99 of few reads is chance, so the reads are long and the attack is repeated.
	quiet, err := reader.While(func() { target.Pause(ctx, time.Duration(s.scaled(10, 1))*time.Second) })
	if err != nil {
		return effect{}, err
	}
	var took time.Duration // the longest
	var signInErr error
	during, err := reader.While(func() {
		for round := range s.scaled(6, 1) {
			var once time.Duration
			once, signInErr = s.guessAtOnce(ctx, server, round, func() (time.Duration, error) {
				return persist(ctx, device, server, owner)
			})
			if took = max(took, once); signInErr != nil {
				return
			}
		}
	})
	if err := errors.Join(err, signInErr); err != nil {
		return effect{}, err
	}
	slower := ratio(during.P99, quiet.P99)
	return harmIf(!s.short && (slower > 2 || took > 10*time.Second) || during.Failed > 0,
		"a right password takes %.1f s; p99 of price reads %.1f× (%.1f ms)",
		took.Seconds(), slower, during.P99.Seconds()*1000), nil
}

// guessAtOnce sends 300 guesses, calls meanwhile as soon as the first was answered and the others wait, and waits for
// them.
func (s *site) guessAtOnce(
	ctx context.Context, server *target.Server, round int, meanwhile func() (time.Duration, error),
) (time.Duration, error) {
	var group sync.WaitGroup
	defer group.Wait()
	busy := make(chan struct{})
	answered := sync.OnceFunc(func() { close(busy) })
	count := s.scaled(300, 60)
	for i := range count {
		n := round*count + i
		guess := target.Account{Email: fmt.Sprintf("person%d@example.com", n), Password: "a wrong password"}
		from := fmt.Sprintf("10.2.%d.%d", n>>8, n&255)
		group.Go(func() {
			signIn(ctx, server.Client, server, guess, from)
			answered()
		})
	}
	<-busy
	return meanwhile()
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
