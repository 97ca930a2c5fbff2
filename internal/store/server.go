package store

import (
	"context"
	"errors"
)

// Server is what an operator has set up about the server of a PostgreSQL database.
type Server struct {
	Version     string
	Careless    []string // settings with which it may forget what it has acknowledged
	Encrypted   bool     // the connection to it is
	Local       bool     // the connection to it does not leave this machine
	Standby     bool     // it cannot be written to
	Connections int      // that it accepts from everyone
}

// Server asks the server about itself.
func (e *postgresEngine) Server(ctx context.Context) (s Server, ok bool, err error) {
	b, err := e.begin(ctx, false)
	if err != nil {
		return s, false, err
	}
	defer b.end()
	var fsync, pages, commit string
	err = b.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_setting('fsync'),
		current_setting('full_page_writes'), current_setting('synchronous_commit'),
		current_setting('max_connections')::bigint, pg_is_in_recovery(),
		coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
		coalesce(inet_client_addr() = inet_server_addr(), true)`).
		Scan(&s.Version, &fsync, &pages, &commit, &s.Connections, &s.Standby, &s.Encrypted, &s.Local)
	for _, setting := range []struct{ name, value string }{
		{"fsync", fsync}, {"full_page_writes", pages}, {"synchronous_commit", commit},
	} {
		if setting.value == "off" {
			s.Careless = append(s.Careless, setting.name)
		}
	}
	return s, err == nil, errors.Join(err, b.Rollback())
}

// Server is for the interface: the database is a file.
func (*sqliteEngine) Server(context.Context) (s Server, ok bool, err error) { return s, false, nil }
