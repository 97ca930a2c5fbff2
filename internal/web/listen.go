package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of a connection beside those of conns.
const (
	drainTimeout   = 30 * time.Second
	maxHeaderBytes = 64 << 10
)

// Serve serves requests on a listener until the context ends, and then lets requests in flight finish.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	conns := newConns(s.connectionLimits, s.trusts)
	server := &http.Server{ //nolint:gosec // G112: conns bounds the time a request may take to arrive
		Handler: s, ConnState: conns.changed, ConnContext: withConn, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(s.config.Log.Handler(), slog.LevelWarn),
		DisableGeneralOptionsHandler: true, // its response to OPTIONS * has no id and no line in the log
	}
	go conns.run(ctx, s.config.Log)
	drained := make(chan error, 1)
	go func() {
		<-ctx.Done()
		s.config.Log.Info("shutting down")
		timeout, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		err := server.Shutdown(timeout)
		if err != nil {
			err = errors.Join(fmt.Errorf("requests in flight did not finish within %v: %w", drainTimeout, err), server.Close())
		}
		drained <- err
	}()
	if err := server.Serve(listener{l, conns, s.refuse}); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-drained
}
