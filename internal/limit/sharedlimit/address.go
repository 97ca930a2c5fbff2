package sharedlimit

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	defaultPort = "6379"
	// poolSize is how many connections a node has to one Redis server: one for each sender and one for a probe, and as
	// many to replace connections on which a reply was late. All stay open: a request has no time to connect.
	poolSize = 2 * (senders + 1)
)

// errAddress does not show the address, which may contain a password.
var errAddress = errors.New(
	"must be redis://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/DATABASE], or rediss:// for TLS, then with " +
		"?ca=FILE for another authority than the public ones, and &cert=FILE&key=FILE for a certificate of this node")

// CheckAddress checks the form of an address. Its errors do not contain the address.
func CheckAddress(address string) error {
	_, err := parseAddress(address)
	return err
}

// parseAddress reads the address of Redis. Several hosts are servers of one cluster, and need not be all of them. A
// cluster has no databases.
func parseAddress(address string) (*redis.UniversalOptions, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme != "redis" && scheme != "rediss" {
		return nil, errAddress
	}
	rest, query, _ := strings.Cut(rest, "?")
	// url.Parse accepts no list of hosts, so it gets only the first.
	authority, path, _ := strings.Cut(rest, "/")
	user, list := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, list = authority[:at+1], authority[at+1:]
	}
	hosts := strings.Split(list, ",")
	parsed, err := url.Parse(scheme + "://" + user + hosts[0] + "/" + path)
	if err != nil || parsed.Fragment != "" || query != "" && scheme != "rediss" {
		return nil, errAddress
	}
	options := newOptions()
	for _, host := range hosts {
		name, err := hostPort(host)
		if err != nil {
			return nil, err
		}
		options.Addrs = append(options.Addrs, name)
	}
	options.DB, err = database(path, len(hosts))
	if err != nil {
		return nil, err
	}
	options.Username = parsed.User.Username()
	options.Password, _ = parsed.User.Password()
	if scheme == "rediss" {
		options.TLSConfig, err = tlsConfig(query)
	}
	return options, err
}

// tlsConfig reads what follows the question mark of an address. Its errors name files, which are no secrets.
func tlsConfig(query string) (*tls.Config, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errAddress
	}
	for name, list := range values {
		if !slices.Contains([]string{"ca", "cert", "key"}, name) || len(list) != 1 || list[0] == "" {
			return nil, errAddress
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := values.Get("ca"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca: %s has no certificate in PEM form", name)
		}
	}
	cert, key := values.Get("cert"), values.Get("key")
	if (cert == "") != (key == "") {
		return nil, errors.New("cert and key belong together: give both or neither")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert %s and key %s: %w", cert, key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// newOptions returns the options that no operator sets. Nothing is retried: a request has no time for that.
func newOptions() *redis.UniversalOptions {
	return &redis.UniversalOptions{
		MaxRetries:      -1,
		MinRetryBackoff: -1,
		MaxRetryBackoff: -1,
		DialerRetries:   1,

		DialTimeout:           dialTimeout,
		ReadTimeout:           dialTimeout,
		WriteTimeout:          dialTimeout,
		PoolTimeout:           dialTimeout,
		ContextTimeoutEnabled: true,

		PoolSize:         poolSize,
		MinIdleConns:     poolSize,
		PipelinePoolSize: -1,
		ReadBufferSize:   16 << 10,
		WriteBufferSize:  16 << 10,

		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func hostPort(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), defaultPort
		if strings.Contains(host, ":") && !strings.HasPrefix(text, "[") {
			return "", errAddress
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || host == "" || strings.ContainsAny(host, " ?#[]") {
		return "", errAddress
	}
	return net.JoinHostPort(host, port), nil
}

func database(path string, hosts int) (int, error) {
	if path == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(path, 10, 16)
	if err != nil {
		return 0, errAddress
	}
	if n > 0 && hosts > 1 {
		return 0, fmt.Errorf("a cluster has no database %d: leave it out or use 0", n)
	}
	return int(n), nil
}
