package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// replicated is a database and its replica, each behind a wire that a test can cut.
type replicated struct {
	writer               *store.DB // at the primary, as another process
	replica              *store.DB
	toPrimary, toReplica *storetest.Wire
	standby              string // the replica's address
}

func openReplicated(t *testing.T, s *storetest.Standby) *replicated {
	t.Helper()
	address := durable(s.Postgres(t))
	r := &replicated{writer: storetest.OpenIn(t, address), standby: s.Of(address)}
	r.toPrimary, r.toReplica = storetest.NewWire(t, address), storetest.NewWire(t, r.standby)
	primary := storetest.OpenIn(t, r.toPrimary.Of(address))
	await(t, func() (err error) { // the database must be replicated first
		r.replica, err = store.OpenReplica(t.Context(), r.toReplica.Of(address), primary)
		return err
	})
	t.Cleanup(func() {
		if err := r.replica.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// durable makes commits wait for the disk, the default of PostgreSQL, which the test server turns off.
func durable(address string) string {
	if strings.Contains(address, "?") {
		return address + "&synchronous_commit=on"
	}
	return address + "?synchronous_commit=on"
}

// await retries until it succeeds.
func await(t *testing.T, try func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(waitTimeout)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-limit:
			t.Fatal(err)
		case <-tick.C:
		}
	}
}

func (r *replicated) set(t *testing.T, value int) {
	t.Helper()
	if err := r.writer.SetSetting(t.Context(), "round", fmt.Sprint(value)); err != nil {
		t.Fatal(err)
	}
}

// shows returns an error unless the replica has a value.
func (r *replicated) shows(t *testing.T, value int) error {
	t.Helper()
	got, err := r.replica.Setting(t.Context(), "round")
	if err == nil && got != fmt.Sprint(value) {
		err = fmt.Errorf("the replica has %q, want %d", got, value)
	}
	return err
}

// wantLag waits until the replica reports that it is behind, or that it is not.
func (r *replicated) wantLag(t *testing.T, stale bool) {
	t.Helper()
	await(t, func() error { return r.hasLag(stale) })
}

func (r *replicated) hasLag(stale bool) error {
	if lag := r.replica.Lag(); stale != (lag > 2*time.Second) {
		return fmt.Errorf("the replica reports a lag of %v", lag)
	}
	return nil
}

func TestReplica(t *testing.T) {
	t.Parallel()
	s := storetest.StartStandby(t)
	for name, f := range map[string]func(*testing.T, *replicated){
		"NeverTooEarly":  replicaNeverTooEarly,
		"ReplayPaused":   replicaPaused,
		"PrimaryCut":     replicaPrimaryCut,
		"ReplicaCut":     replicaCut,
		"NothingWritten": replicaNothingWritten,
		"Migration":      replicaMigration,
	} {
		t.Run(name, func(t *testing.T) { f(t, openReplicated(t, s)) })
	}
	t.Run("OfAnother", func(t *testing.T) {
		primary, other := storetest.OpenIn(t, s.Postgres(t)), s.Postgres(t)
		var err error
		await(t, func() error {
			_, err = store.OpenReplica(t.Context(), s.Of(other), primary)
			if err == nil || strings.Contains(err.Error(), "no streaming replica of") {
				return nil
			}
			return err
		})
		if err == nil {
			t.Error("the replica of another database was accepted")
		}
	})
	// The last case: afterwards the server is no replica.
	t.Run("Promoted", func(t *testing.T) { replicaPromoted(t, openReplicated(t, s)) })
}

// wantAnnounced waits until a commit of the value is announced on a channel that was taken before or after it. The
// watcher announces one change at a time, so one announcement of an earlier change may still be pending. After the next
// one a reader sees the value.
func (r *replicated) wantAnnounced(t *testing.T, changed <-chan struct{}, value int) {
	t.Helper()
	storetest.Await(t, changed)
	changed = r.replica.Changed() // before reading, so that no announcement is missed
	if r.shows(t, value) == nil {
		return
	}
	storetest.Await(t, changed)
	if err := r.shows(t, value); err != nil {
		t.Fatalf("after the announcement: %v", err)
	}
}

// A reader that has seen the announcement of a change sees the change.
func replicaNeverTooEarly(t *testing.T, r *replicated) {
	for i := range 200 {
		changed := r.replica.Changed()
		r.set(t, i)
		r.wantAnnounced(t, changed, i)
	}
}

// A replica whose replay is paused reports its lag, announces nothing that it does not have, and catches up.
func replicaPaused(t *testing.T, r *replicated) {
	r.set(t, 1)
	await(t, func() error { return r.shows(t, 1) })
	storetest.ExecAt(t, r.standby, `SELECT pg_wal_replay_pause()`)
	resume := sync.OnceFunc(func() { storetest.ExecAt(t, r.standby, `SELECT pg_wal_replay_resume()`) })
	defer resume()
	r.set(t, 2)
	changed, announced := r.replica.Changed(), 0
	await(t, func() error { // until it is stale, which takes several rounds of the watcher
		select {
		case <-changed:
			changed = r.replica.Changed()
			announced++
		default:
		}
		return r.hasLag(true)
	})
	if announced > 1 { // the announcement of an earlier change may have been pending
		t.Errorf("%d changes were announced while the replay was paused", announced)
	}
	if err := r.shows(t, 1); err != nil {
		t.Errorf("while the replay was paused: %v", err)
	}
	resume()
	r.wantAnnounced(t, changed, 2)
	r.wantLag(t, false)
}

// Without the primary, changes that reach the replica are still announced, and the replica reports that it may be
// behind.
func replicaPrimaryCut(t *testing.T, r *replicated) {
	r.toPrimary.Cut()
	r.wantLag(t, true)
	r.set(t, 1) // other connections to the primary still work
	await(t, func() error {
		storetest.Await(t, r.replica.Changed())
		return r.shows(t, 1)
	})
	r.toPrimary.Mend()
	r.wantLag(t, false)
	r.set(t, 2)
	await(t, func() error { return r.shows(t, 2) })
}

// Without the replica reads fail and do not use another database.
func replicaCut(t *testing.T, r *replicated) {
	r.toReplica.Cut()
	r.set(t, 1)
	if _, err := r.replica.Counters(t.Context()); err == nil {
		t.Error("a read without the replica succeeded")
	}
	if err := r.replica.Ping(t.Context()); err == nil {
		t.Error("a ping without the replica succeeded")
	}
	r.wantLag(t, true)
	changed := r.replica.Changed()
	r.toReplica.Mend()
	r.wantAnnounced(t, changed, 1)
	r.wantLag(t, false)
}

func replicaNothingWritten(t *testing.T, r *replicated) {
	_, err := r.replica.AppendTransactions(t.Context(), []assay.Transaction{rental("a")})
	if !errors.Is(err, store.ErrReplica) {
		t.Errorf("writing returns the error %v, want %v", err, store.ErrReplica)
	}
	if _, _, err := r.replica.LockPublisher(t.Context()); !errors.Is(err, store.ErrReplica) {
		t.Errorf("publishing returns the error %v, want %v", err, store.ErrReplica)
	}
}

// promoted returns an error while a server is a replica.
func promoted(t *testing.T, address string) error {
	t.Helper()
	raw, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer raw.Close()
	var replica bool
	err = raw.QueryRowContext(t.Context(), `SELECT pg_is_in_recovery()`).Scan(&replica)
	if err == nil && replica {
		err = errors.New("the server is still a replica")
	}
	return err
}

// A replica that was promoted does not wait for the primary, and still refuses writes.
func replicaPromoted(t *testing.T, r *replicated) {
	r.set(t, 1)
	await(t, func() error { return r.shows(t, 1) })
	// Waiting for the promotion in the query would make it a query that recovery may cancel.
	storetest.ExecAt(t, r.standby, `SELECT pg_promote(false)`)
	await(t, func() error { return promoted(t, r.standby) })
	r.set(t, 2)
	changed := r.replica.Changed()
	r.set(t, 3)
	storetest.Await(t, changed)
	if err := r.shows(t, 1); err != nil {
		t.Error(err)
	}
	r.wantLag(t, false)
	replicaNothingWritten(t, r)
}

// A replica is refused until the newest migration has reached it.
func replicaMigration(t *testing.T, r *replicated) {
	open := func() error {
		db, err := store.OpenReplica(t.Context(), r.standby, r.writer)
		if err == nil {
			err = db.Close()
		}
		return err
	}
	var newest int
	if _, err := fmt.Sscanf(store.NewestMigration(t), "%d", &newest); err != nil {
		t.Fatal(err)
	}
	set := func(number int, want string) {
		t.Helper()
		storetest.Exec(t, r.writer, `DELETE FROM migrations WHERE number >= $1`, min(number, newest))
		storetest.Exec(t, r.writer, `INSERT INTO migrations (number, applied_at) VALUES ($1, 1)`, number)
		await(t, func() error {
			if err := open(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				return fmt.Errorf("opening at migration %d returns the error %w, want %q", number, err, want)
			}
			return nil
		})
	}
	set(newest-1, "it has not caught up with the primary yet")
	set(newest+1, "use a newer assay")
	set(newest, "")
}

func TestOpenReplica_NotPostgres(t *testing.T) {
	t.Parallel()
	_, err := store.OpenReplica(t.Context(), t.TempDir(), storetest.Open(t))
	if want := "only PostgreSQL has read replicas"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want one with %q", err, want)
	}
}
