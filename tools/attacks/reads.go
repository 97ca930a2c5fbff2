//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/target"
)

const pricePath = "/api/gpu/H100%20SXM"

// startReader starts a reader of a price.
func startReader(ctx context.Context, s *target.Server) (*target.Reader, error) {
	return target.StartReader(ctx, target.Reading{
		Server: s.Address, From: "127.0.0.1", Rate: 500,
		Requests: []target.ReadRequest{{Path: pricePath, Want: `"index_value":`}},
	})
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func megabytes(bytes int64) int64 { return (bytes + 500_000) / 1_000_000 }

// quietReads is how long the reader reads without an attack.
const quietReads = 3 * time.Second

// pasts is how many states of the past are requested, in the full form.
const pasts = 27

// makePasts imports rows of models one by one, and returns an instant after each import.
func (s *site) makePasts(ctx context.Context) (instants []string, err error) {
	day := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	for i := range s.scaled(pasts, 6) {
		file, err := s.write("models.csv", "date,lab,model,family,requests,input_tokens,output_tokens,dollars\n"+
			fmt.Sprintf("%s,anthropic,model-%d,opus,1000,2000000,500000,9.50\n", day, i))
		if err != nil {
			return nil, err
		}
		got, err := s.command(ctx, nil, "", "import", "models", "--dir", s.market.Folder, file)
		if err == nil && !got.success {
			err = errors.New(got.output)
		}
		if err != nil {
			return nil, err
		}
		instants = append(instants, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return instants, nil
}

func pastModels(ctx context.Context, s *site) (effect, error) {
	instants, err := s.makePasts(ctx)
	if err != nil {
		return effect{}, err
	}
	server, err := s.serveQuietly(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	reader, err := startReader(ctx, server)
	if err != nil {
		return effect{}, err
	}
	defer reader.Stop()
	quiet, err := reader.While(func() { target.Pause(ctx, quietReads) })
	if err != nil {
		return effect{}, err
	}
	resident, err := server.Resident()
	if err != nil {
		return effect{}, err
	}
	if err := server.ForgetPeak(); err != nil {
		return effect{}, err
	}
	var served, later atomic.Int64
	during, err := reader.While(func() {
		var group sync.WaitGroup
		for i, at := range instants {
			group.Go(func() {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL("/api/otpi?as_of="+at), nil)
				if err != nil {
					return
				}
				request.Header.Set("X-Forwarded-For", fmt.Sprintf("10.1.0.%d", i))
				switch status, _, _ := send(server.Client, request); status {
				case http.StatusOK:
					served.Add(1)
				case http.StatusServiceUnavailable:
					later.Add(1)
				}
			})
		}
		group.Wait()
	})
	if err != nil {
		return effect{}, err
	}
	peak, err := server.Peak()
	if err != nil {
		return effect{}, err
	}
	slower := ratio(during.P50, quiet.P50)
	return harmIf(!s.short && slower > 2 || during.Failed > 0 || int(served.Load()+later.Load()) < len(instants),
		"%d served, %d told to come later; median price read %.1f×; +%d MB RAM",
		served.Load(), later.Load(), slower, megabytes(peak-resident)), nil
}

// unknownSessions needs a database that counts its transactions: PostgreSQL.
func unknownSessions(ctx context.Context, s *site) (effect, error) {
	database, err := newDatabase(ctx, "attacks_"+path.Base(s.dir))
	if err != nil {
		return effect{}, err
	}
	env := []string{"ASSAY_STORE=" + database.url}
	if err := s.initialize(ctx, env, s.dir); err != nil {
		return effect{}, err
	}
	command := target.Command(s.program, s.dir, "serve", "--dir", s.dir, "--trusted-proxies", "127.0.0.1/32")
	command.Env = env
	server, err := target.Start(ctx, command)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	signOut, err := transactions(ctx, database, server, http.MethodDelete, "/api/session")
	if err != nil {
		return effect{}, err
	}
	keyed, err := transactions(ctx, database, server, http.MethodGet, "/api/account")
	if err != nil {
		return effect{}, err
	}
	return harmIf(signOut+keyed > 400, "%d and %d transactions in PostgreSQL", signOut, keyed), nil
}

// transactions is how many transactions 2,000 requests with unknown session tokens from one address cause, beyond those
// of the server itself, which looks at the database a few times a second.
func transactions(ctx context.Context, d *database, s *target.Server, method, path string) (int64, error) {
	first, err := d.settledTransactions(ctx)
	if err != nil {
		return 0, err
	}
	before, err := d.settledTransactions(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	var group sync.WaitGroup
	var left atomic.Int64
	left.Store(2000)
	for range 8 {
		group.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, method, s.URL(path), nil)
				if err != nil {
					return
				}
				token := (rand.Text() + rand.Text())[:43]
				request.AddCookie(&http.Cookie{Name: target.SessionCookie, Value: token})
				request.Header.Set("X-Forwarded-For", "198.51.100.1")
				send(s.Client, request)
			}
		})
	}
	group.Wait()
	after, err := d.settledTransactions(ctx)
	if err != nil {
		return 0, err
	}
	own := float64(before-first) / settleTime.Seconds() * time.Since(begun).Seconds()
	return max(0, after-before-int64(own)), ctx.Err()
}

// database is a new database of PostgreSQL.
type database struct{ url, server, name string }

func newDatabase(ctx context.Context, name string) (*database, error) {
	server := os.Getenv("ASSAY_TEST_POSTGRES")
	if server == "" {
		return nil, errors.New("ASSAY_TEST_POSTGRES names no server; scripts/with-services starts one")
	}
	parsed, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	parsed.Path = "/" + name
	d := &database{url: parsed.String(), server: server, name: name}
	_, err = d.query(ctx, "CREATE DATABASE "+name)
	return d, err
}

func (d *database) query(ctx context.Context, text string) (string, error) {
	out, err := exec.CommandContext(ctx, "psql", "-X", "-At", "-c", text, d.server).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, process.Tail(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// settleTime is how long PostgreSQL's sessions may take to report what they did.
const settleTime = 2 * time.Second

func (d *database) settledTransactions(ctx context.Context) (int64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(settleTime):
	}
	text, err := d.query(ctx,
		"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '"+d.name+"'")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func healthFlood(ctx context.Context, s *site) (effect, error) {
	server, err := s.serve(ctx)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	attack, end := context.WithCancel(ctx)
	defer end()
	var group sync.WaitGroup
	defer group.Wait()
	for n := range s.scaled(5000, 500) {
		group.Go(func() { floodHealth(attack, server.Address, n) })
	}
	const looks = 200
	unhealthy, failed := 0, 0
	for range looks {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL("/health"), nil)
		if err != nil {
			return effect{}, err
		}
		switch status, _, err := send(server.Client, request); {
		case err != nil:
			failed++
		case status != http.StatusOK:
			unhealthy++
		}
	}
	end()
	return harmIf(unhealthy+failed > 0, "%d of %d other looks at it get 503, %d none", unhealthy, looks, failed), ctx.Err()
}

// floodHealth requests /health again and again over one connection, from one of 50 addresses.
func floodHealth(ctx context.Context, address string, n int) {
	for ctx.Err() == nil {
		conn, err := dialFrom(ctx, fmt.Sprintf("127.0.2.%d", 1+n%50), address)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		for buffer := make([]byte, 4096); err == nil; {
			if _, err = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: assay.example\r\n\r\n"); err == nil {
				_, err = conn.Read(buffer)
			}
		}
		stop()
		conn.Close()
	}
}

func dialFrom(ctx context.Context, from, to string) (net.Conn, error) {
	dialer := target.Dialer(net.ParseIP(from))
	dialer.Timeout = 10 * time.Second
	return dialer.DialContext(ctx, "tcp", to)
}

func idleConnections(ctx context.Context, s *site) (effect, error) {
	command := s.serveCommand()
	command.Args = append([]string{"--nofile=256", "--", command.Program}, command.Args...)
	command.Program = "prlimit"
	server, err := target.Start(ctx, command)
	if err != nil {
		return effect{}, err
	}
	defer server.Stop()
	server.Client.CloseIdleConnections() // of the wait for the start
	var idle []net.Conn
	defer func() {
		for _, conn := range idle {
			conn.Close()
		}
	}()
	for range 300 {
		conn, err := dialFrom(ctx, "127.0.2.1", server.Address)
		if errors.Is(err, syscall.ECONNRESET) { // the server refuses it
			continue
		}
		if err != nil {
			return effect{}, err
		}
		idle = append(idle, conn)
	}
	const reads = 20
	failed := 0
	for range reads {
		impatient, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		if _, err := server.Get(impatient, pricePath); err != nil {
			failed++
		}
		cancel()
	}
	return harmIf(failed > 0, "%d of %d reads of another address fail", failed, reads), ctx.Err()
}
