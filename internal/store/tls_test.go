package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/certtest"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// PostgreSQL is reached with TLS if its certificate is of the given authority and has its name. Otherwise the error
// says which of the two is wrong, without the password.
func TestOpen_PostgresTLS(t *testing.T) {
	t.Parallel()
	server := storetest.StartPostgres(t)
	authority := certtest.New(t)
	server.UseTLS(authority.Issue(time.Now().Add(time.Hour), "localhost"))
	dir := t.TempDir()
	root, stranger := filepath.Join(dir, "root.pem"), filepath.Join(dir, "stranger.pem")
	for name, text := range map[string][]byte{root: authority.PEM, stranger: certtest.New(t).PEM} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := func(host, ca, want string) {
		t.Helper()
		address := strings.NewReplacer("test@127.0.0.1", "test:hunter2@"+host,
			"sslmode=disable", "sslmode=verify-full&sslrootcert="+ca).Replace(server.Address)
		storetest.Eventually(t, "the server has TLS", func() bool { // it reads its settings a moment later
			_, err := store.Open(t.Context(), address)
			return err != nil && !strings.Contains(err.Error(), "refused TLS")
		})
		_, err := store.Open(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s with %s: %v, want %q", host, filepath.Base(ca), err, want)
		}
	}
	f("localhost", root, store.ErrNoDatabase.Error()) // it has no tables yet
	f("localhost", stranger, "certificate signed by unknown authority")
	f("127.0.0.1", root, "doesn't contain any IP SANs")
	f("localhost", filepath.Join(dir, "none.pem"), "none.pem")
}
