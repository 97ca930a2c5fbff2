package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// patience is how long something on the network may take.
const patience = 5 * time.Second

// Listen examines an address to listen on. A server of Assay that uses it already is no problem.
func Listen(ctx context.Context, subject, address string) Finding {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		_ = listener.Close() // nothing has connected
		return ok(subject, "%s is free to listen on", address)
	case errors.Is(err, syscall.EADDRINUSE) && isAssay(ctx, address):
		return ok(subject, "a server of Assay listens on %s", address)
	case errors.Is(err, syscall.EADDRINUSE):
		return problem(subject, "stop the other program (ss -ltnp shows it), or listen elsewhere",
			"another program listens on %s", address)
	case errors.Is(err, syscall.EACCES):
		return warning(subject, "AmbientCapabilities=CAP_NET_BIND_SERVICE in the systemd unit, as that of the package has, "+
			"or a port from 1024 on", "this user may not listen on %s, unless the service may", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return problem(subject, "use an address of this machine (ip addr shows them), or 0.0.0.0", "%v", err)
	}
	return problem(subject, "use HOST:PORT of this machine", "%v", err)
}

// isAssay reports whether a server of Assay responds at an address of this machine. It sends nothing secret, so it does
// not matter who signed the server's certificate.
func isAssay(ctx context.Context, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // G402: see above
	}}
	for _, scheme := range []string{"http", "https"} {
		address := scheme + "://" + net.JoinHostPort(host, port) + "/livez"
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return false
		}
		response, err := client.Do(request)
		if err != nil {
			continue
		}
		_ = response.Body.Close() // the header is enough
		if response.Header.Get("X-Request-Id") != "" {
			return true
		}
	}
	return false
}

// Reach examines whether a server of others can be reached, at host:port or at a URL. With https its certificate must
// be right too. The address must not contain a secret.
func Reach(ctx context.Context, subject, address string) Finding {
	host, secure := address, false
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		host, secure = u.Host, u.Scheme == "https"
		if u.Port() == "" {
			port := "80"
			if secure {
				port = "443"
			}
			host = net.JoinHostPort(u.Hostname(), port)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := dial(ctx, host, secure)
	if err == nil {
		_ = conn.Close() // nothing was sent
		return ok(subject, "%s can be reached", address)
	}
	noName := &net.DNSError{}
	switch {
	case errors.As(err, &noName):
		return problem(subject, "correct the name, or the servers in /etc/resolv.conf",
			"the name %s cannot be resolved: %s", noName.Name, noName.Err)
	case isCertificate(err):
		return problem(subject, "install the authority's certificate, or name it in SSL_CERT_FILE", "%s: %v", address, err)
	}
	return problem(subject, "look at the server, at firewalls and at the way there",
		"%s cannot be reached: %v", address, err)
}

func dial(ctx context.Context, host string, secure bool) (net.Conn, error) {
	if secure {
		return (&tls.Dialer{}).DialContext(ctx, "tcp", host)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", host)
}

func isCertificate(err error) bool {
	_, wrong := errors.AsType[*tls.CertificateVerificationError](err)
	return wrong
}

// Descriptors examines how many files and connections a process may have open, beside how many it needs to serve as
// many connections as it is set to.
func Descriptors(limit, needed int) Finding {
	const subject = "open files"
	if limit < needed {
		fix := fmt.Sprintf("LimitNOFILE=%d in the systemd unit, or ulimit -n %d, or a lower --max-connections",
			needed, needed)
		return warning(subject, fix, "a process of this user may open %d, and needs %d for --max-connections", limit, needed)
	}
	return ok(subject, "a process of this user may open %d, and needs %d", limit, needed)
}
