package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay/internal/store/storetest"
)

// A failed read is retried every second. The log shows the first failure and the recovery, each time.
func TestFollow_LogsBeginningAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		db.Changed()
		synctest.Wait() // the watcher has made its first check
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began, calls := time.Now(), 0
		db.Follow(ctx, "a test", slog.New(slog.NewTextHandler(&log, nil)), func(context.Context) error {
			calls++
			switch calls {
			case 2, 3, 4, 6:
				return errors.New("away")
			case 8:
				cancel()
				return ctx.Err()
			}
			return nil
		})
		if took := time.Since(began); calls != 8 || took != 7*time.Second {
			t.Errorf("there were %d reads in %v, want 8 in 7 seconds", calls, took)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, want := range []string{
			`level=ERROR msg="cannot follow the store; using the last data read" what="a test" error=away`,
			`level=INFO msg="following the store again" what="a test" after=3s`,
			`level=ERROR msg="cannot follow the store; using the last data read" what="a test" error=away`,
			`level=INFO msg="following the store again" what="a test" after=1s`,
		} {
			if len(lines) != 4 || !strings.HasSuffix(lines[i], want) {
				t.Fatalf("the log is\n%s, want in line %d of 4\n%s", &log, i+1, want)
			}
		}
	})
}
