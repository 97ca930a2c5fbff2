package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store/storetest"
)

// shareDrill is a database with two nodes, and an account with a key.
type shareDrill struct {
	*streamingMarket
	nodes    [2]*process
	accounts *account.Service
	grant    assay.Grant
}

func newShareDrill(t *testing.T, address string) *shareDrill {
	t.Helper()
	d := &shareDrill{streamingMarket: newStreamingMarket(t, address)}
	d.run("publish --from 2025-06-09 --to 2025-06-12") // days, too
	db := storetest.OpenIn(t, address)
	d.accounts = &account.Service{Store: db, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	d.must(d.accounts.Load(t.Context()))
	a, err := d.accounts.AddAccount(t.Context(), "ann@example.com", "Ann", "", false)
	d.must(err)
	d.grant, err = d.accounts.AddGrant(t.Context(), a.Email, account.GrantRequest{Plan: assay.PlanFull})
	d.must(err)
	secret, _, err := d.accounts.CreateKey(t.Context(), a.ID, "drill", "")
	d.must(err)
	d.key = secret.Reveal()
	for i := range d.nodes {
		d.nodes[i] = d.serve()
	}
	return d
}

func (d *shareDrill) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// send sends a request with the account's key.
func (d *shareDrill) send(method, url, body string, status int) string {
	d.t.Helper()
	return requestWithKey(d.t, d.key, method, url, body, status)
}

// link makes a link at the first node, and returns its path without the extension, and its id.
func (d *shareDrill) link(granularity string) (path, id string) {
	d.t.Helper()
	var made struct {
		Token string
		Data  struct{ ID string }
	}
	text := d.send(http.MethodPost, d.nodes[0].url+"/api/share-links",
		`{"name":"drill","family":"gpu","series":"H100 SXM","range":"1y","granularity":"`+granularity+`"}`, http.StatusCreated)
	d.must(json.Unmarshal([]byte(text), &made))
	return "/s/" + made.Token, made.Data.ID
}

// pollEvery is rare enough that the polls stay under the limit of a link, and under that of wrong tokens.
const pollEvery = 100 * time.Millisecond

// want waits until a path responds with a status, and what it must have, at every node; within a second of now.
func (d *shareDrill) want(path string, status int, part string) {
	d.t.Helper()
	began, slowest := time.Now(), time.Duration(0)
	client := newClient(d.t)
	for _, node := range d.nodes {
		err := until(soon, pollEvery, func() error {
			response, body, err := getWith(client, "", node.url+path)
			if err != nil {
				return err
			}
			if response.StatusCode != status || !strings.Contains(body, part) {
				return fmt.Errorf("%d %.200s", response.StatusCode, body)
			}
			return nil
		})
		if err != nil {
			d.t.Fatalf("want %d with %s: %v", status, part, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	if slowest > time.Second && !testing.Short() {
		d.t.Logf("the nodes took %v", slowest) // a second on a quiet machine
	}
}

// What one node does with a link, the other follows: a new link, the end of a plan, a revocation, a closed account. No
// node writes a token into its log, and the database has none.
func TestShareLinks_TwoNodes(t *testing.T) {
	t.Parallel()
	needProgram(t)
	storetest.EachAddress(t, func(t *testing.T, address string) {
		d := newShareDrill(t, address)
		hourly, _ := d.link("hourly")
		daily, id := d.link("daily")
		d.want(hourly+".csv", http.StatusOK, "timestamp,index_value\r\n")
		d.want(daily+".json", http.StatusOK, `"access":"full","granularity":"daily"`)
		d.want(daily+".svg", http.StatusOK, "<svg ")
		d.want(daily+".png?style=badge", http.StatusOK, "PNG")
		d.want("/embed/gpu/H100%20SXM", http.StatusOK, "<svg ")

		d.send(http.MethodDelete, d.nodes[0].url+"/api/share-links/"+id, "", http.StatusOK)
		d.want(daily+".json", http.StatusNotFound, `"unknown_share_link"`)
		d.must(d.accounts.EndGrant(t.Context(), d.grant.ID))
		d.want(hourly+".json", http.StatusOK, `"access":"public-3mo","granularity":"daily"`)
		d.must(d.accounts.CloseAccount(t.Context(), "ann@example.com"))
		d.want(hourly+".json", http.StatusNotFound, `"unknown_share_link"`)

		client := newClient(t)
		for _, path := range []string{daily + ".csv/..", daily + ".csv/x", "/x" + hourly + ".csv"} {
			response, body, err := getWith(client, "", d.nodes[1].url+path)
			if err != nil || response.StatusCode != http.StatusNotFound || strings.Contains(body, strings.TrimPrefix(hourly, "/s/")) {
				t.Errorf("%s: %v %s (%v)", path, response, body, err)
			}
		}
		for _, node := range d.nodes {
			if err := node.stop(); err != nil {
				t.Error(err)
			}
		}
		for _, path := range []string{hourly, daily} {
			d.wantNowhere(strings.TrimPrefix(path, "/s/"))
		}
	})
}

// wantNowhere wants that no file of the nodes has a token.
func (d *shareDrill) wantNowhere(token string) {
	d.t.Helper()
	files := 0
	err := filepath.WalkDir(d.dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		files++
		if err == nil && strings.Contains(string(text), token) {
			err = errors.New(name + " has the token of a link")
		}
		return err
	})
	if err != nil || files < 2 {
		d.t.Errorf("of %d files: %v", files, err)
	}
}
