package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify tells the service manager how the node is. Without one it does nothing.
func (n *node) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Warn("the service manager cannot be reached", "state", state, "error", err)
	}
}

// watchdog reports to the service manager that the node responds, if that wants to know: a node that no longer accepts
// connections is restarted. It does not depend on the database, because a restart would not bring that back.
func (n *node) watchdog(ctx context.Context) error {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("WATCHDOG_USEC: %w", err)
	}
	if interval == 0 {
		return nil
	}
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // G402: it asks itself, and sends nothing
	if n.certs != nil {
		config.Certificates = n.certs.Own()
	}
	client := &http.Client{Timeout: interval / 2, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: config,
	}}
	ticker := time.NewTicker(interval / 3)
	defer ticker.Stop()
	for {
		if err := n.checkResponds(ctx, client); err == nil {
			n.notify(daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			n.log.Error("this node does not respond to itself", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// checkResponds requests /livez from this node. A node that waits for its certificate refuses the handshake, which is a
// response, too.
func (n *node) checkResponds(ctx context.Context, client *http.Client) error {
	address := n.config.tls.scheme() + "://" + reachable(n.listener.Addr()) + "/livez"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil && n.certs != nil && strings.Contains(err.Error(), "remote error: tls: ") {
		return nil
	}
	if err != nil {
		return err
	}
	_ = response.Body.Close() // only the status counts
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/livez responds %s", response.Status)
	}
	return nil
}

// reachable is an address under which this machine reaches a listener of its own.
func reachable(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address.String()
}
