package anchor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/anchor"
	"github.com/assaydata/assay/internal/anchortest"
	"github.com/assaydata/assay/internal/proof"
)

// checkpoints is a log in memory.
type checkpoints struct {
	mu      sync.Mutex
	last    proof.SignedCheckpoint
	since   int64 // of the last question
	anchors []proof.Anchor
}

// sign adds a checkpoint.
func (c *checkpoints) sign(size int64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = proof.SignedCheckpoint{
		Size: size, SignedAt: at.UnixMilli(), Note: fmt.Sprintf("assay/test\n%d\nroot\n\n— assay/test signature\n", size),
	}
}

func (c *checkpoints) Unanchored(_ context.Context, since int64) (proof.SignedCheckpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = since
	if n := len(c.anchors); c.last.SignedAt < since || n > 0 && c.anchors[n-1].StampedAt >= since {
		return proof.SignedCheckpoint{}, nil
	}
	return c.last, nil
}

func (c *checkpoints) lastSince() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since
}

func (c *checkpoints) AddAnchor(_ context.Context, a proof.Anchor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.anchors = append(c.anchors, a)
	return nil
}

// wantSizes wants anchors of checkpoints of these sizes.
func (c *checkpoints) wantSizes(t *testing.T, sizes ...int64) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var got []int64
	for _, a := range c.anchors {
		got = append(got, a.Size)
	}
	if fmt.Sprint(got) != fmt.Sprint(sizes) {
		t.Errorf("anchors of checkpoints of %v entries, want %v", got, sizes)
	}
}

// authority responds without a network, and keeps what the keeper logs.
type authority struct {
	mu      sync.Mutex
	failure error
	asked   int
	logged  string
}

// fail lets the authority fail from now on, or respond. It returns how often it was asked since the last call.
func (a *authority) fail(failure error) (asked int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, a.failure, a.asked = a.asked, failure, 0
	return asked
}

func (a *authority) request(_ context.Context, url, text string, now time.Time) (anchor.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if url != "http://authority.example" || !strings.HasSuffix(text, "\nroot\n") {
		return anchor.Token{}, fmt.Errorf("%s is asked for a token for %q", url, text)
	}
	return anchor.Token{Time: now.UnixMilli(), DER: []byte(text)}, a.failure
}

func (a *authority) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.logged += string(line)
	return len(line), nil
}

// The newest checkpoint of each day gets a token, as soon as there is one and the authority responds.
func TestKeeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &checkpoints{}
		authority := &authority{}
		keeper := &anchor.Keeper{
			Store: log, URL: "http://authority.example", Now: time.Now, Log: slog.New(slog.NewTextHandler(authority, nil)),
		}
		keeper.SetRequest(authority.request)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- keeper.Run(ctx) }()
		pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		warnings := func(want int) {
			t.Helper()
			authority.mu.Lock()
			defer authority.mu.Unlock()
			if got := strings.Count(authority.logged, "level=WARN"); got != want {
				t.Errorf("%d warnings, want %d:\n%s", got, want, authority.logged)
			}
		}

		day := assay.StartOfDay(time.Now().UnixMilli()) // the clock of a test begins at midnight
		log.sign(10, time.Now())
		pass(anchor.LookEvery)
		log.wantSizes(t, 10)
		log.sign(20, time.Now())
		pass(2 * time.Hour)
		log.wantSizes(t, 10) // once a day
		pass(23 * time.Hour)
		log.wantSizes(t, 10) // nothing was signed on the second day
		if since := log.lastSince(); since != day+assay.Day {
			t.Errorf("it looks for checkpoints since %s", assay.FormatInstant(since))
		}
		warnings(0)

		authority.fail(errors.New("the authority is down"))
		log.sign(30, time.Now())
		pass(10 * time.Minute)
		if asked := authority.fail(nil); asked < 9 || asked > 11 {
			t.Errorf("the authority was asked %d times in ten minutes, want a pause of %v", asked, anchor.RetryAfter)
		}
		warnings(1)
		log.sign(40, time.Now())
		pass(anchor.RetryAfter)
		log.wantSizes(t, 10, 40) // the newest one
		a := log.anchors[1]
		if a.Authority != keeper.URL || a.StampedAt <= day+assay.Day || string(a.Token) != "assay/test\n40\nroot\n" {
			t.Errorf("the anchor is %+v", a)
		}
		warnings(1)

		pass(24 * time.Hour)
		log.sign(50, time.Now().Add(2*time.Hour)) // the clock was wrong then
		pass(time.Hour)
		log.wantSizes(t, 10, 40)
		warnings(2)
		authority.fail(errors.New("the authority is down again"))
		pass(2 * time.Hour)
		warnings(2) // it is one streak
		authority.fail(nil)
		pass(anchor.RetryAfter)
		log.wantSizes(t, 10, 40, 50)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A keeper asks a real server.
func TestKeeper_Request(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(anchortest.New())
	defer server.Close()
	log := &checkpoints{}
	log.sign(10, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	keeper := &anchor.Keeper{
		Store: adding{log, cancel}, URL: server.URL, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	if err := keeper.Run(ctx); err != nil {
		t.Fatal(err)
	}
	log.wantSizes(t, 10)
	if _, err := anchor.Open(log.anchors[0].Token, log.last.Text()); err != nil {
		t.Error(err)
	}
}

// adding ends something when there is an anchor.
type adding struct {
	*checkpoints
	added func()
}

func (a adding) AddAnchor(ctx context.Context, anchor proof.Anchor) error {
	defer a.added()
	return a.checkpoints.AddAnchor(ctx, anchor)
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		if err := anchor.CheckURL(text); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	f("http://timestamp.example/tsr", "<nil>")
	f("https://timestamp.example", "<nil>")
	f("timestamp.example", "must be the http")
	f("ftp://timestamp.example", "must be the http")
	f("https://", "must be the http")
	f("https://user:secret@timestamp.example", "must not contain a password")
}
