package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// inbox is an SMTP server of others that keeps what it receives.
type inbox struct {
	mu       sync.Mutex
	texts    []string
	to       []string
	password string // that it requires; empty: none
	address  string
	roots    *tls.Config
}

// newInbox starts one. Its certificate is that of net/http/httptest.
func newInbox(t *testing.T, implicitTLS bool, password string) *inbox {
	t.Helper()
	borrowed := httptest.NewTLSServer(nil)
	t.Cleanup(borrowed.Close)
	roots := x509.NewCertPool()
	roots.AddCert(borrowed.Certificate())
	box := &inbox{password: password, roots: &tls.Config{
		RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12,
	}}
	server := smtp.NewServer(box)
	server.Domain, server.TLSConfig = "mail.example", &tls.Config{Certificates: borrowed.TLS.Certificates}
	server.ReadTimeout, server.WriteTimeout = 10*time.Second, 10*time.Second
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	box.address = listener.Addr().String()
	if implicitTLS {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return box
}

func (b *inbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{inbox: b}, nil }

type session struct {
	*inbox
	signedIn bool
}

func (*session) Reset()        {}
func (*session) Logout() error { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error {
	if s.password != "" && !s.signedIn {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, string(text))
	return err
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "assay" || password != s.password {
			return errors.New("wrong password")
		}
		s.signedIn = true
		return nil
	}), nil
}

func TestSend(t *testing.T) {
	t.Parallel()
	f := func(name, encryption, password string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := newInbox(t, encryption == TLS, password)
			c := Config{Address: box.address, From: "Assay <alerts@data.example>", Encryption: encryption, Roots: box.roots}
			if password != "" {
				c.User, c.Password = "assay", password
			}
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			m := Message{ID: "msg_1", To: "ann@example.com", Subject: "Alert: über 3", Text: "H200 is 3.1 €.\n"}
			if err := c.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if len(box.texts) != 1 || len(box.to) != 1 || box.to[0] != "ann@example.com" {
				t.Fatalf("received %d mails for %v", len(box.texts), box.to)
			}
			for _, part := range []string{
				"Message-ID: <msg_1@data.example>", "Auto-Submitted: auto-generated", "alerts@data.example",
				"H200 is 3.1 =E2=82=AC.",
			} {
				if !strings.Contains(box.texts[0], part) {
					t.Errorf("%q is missing in\n%s", part, box.texts[0])
				}
			}
		})
	}
	f("encrypted after the greeting", StartTLS, "")
	f("encrypted from the beginning", TLS, "")
	f("not encrypted", Plain, "")
	f("signed in", StartTLS, "hunter2-hunter2")
}

func TestSend_Refused(t *testing.T) {
	t.Parallel()
	const secret = "not-the-password"
	box := newInbox(t, false, "another")
	f := func(name string, change func(*Config, *Message)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Config{
				Address: box.address, From: "alerts@data.example", Encryption: StartTLS, Roots: box.roots, User: "assay", Password: secret,
			}
			m := Message{ID: "msg_1", To: "ann@example.com", Subject: "Alert", Text: "x"}
			change(&c, &m)
			err := c.Send(t.Context(), m)
			if err == nil {
				t.Fatal("the mail was sent")
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
	f("wrong password", func(*Config, *Message) {})
	f("unknown certificate", func(c *Config, _ *Message) { c.Roots = nil })
	f("no server", func(c *Config, _ *Message) { c.Address = "127.0.0.1:1" })
	f("recipient that adds a header", func(_ *Config, m *Message) { m.To = "ann@example.com\r\nBcc: eve@example.com" })
	if len(box.texts) != 0 {
		t.Errorf("received %q", box.texts)
	}
}

// A server that accepts the connection and says nothing ends with the context.
func TestSend_SilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c := Config{Address: listener.Addr().String(), From: "alerts@data.example", Encryption: StartTLS}
	if err := c.Send(ctx, Message{ID: "msg_1", To: "ann@example.com"}); err == nil {
		t.Error("the mail was sent")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	f := func(name string, c Config) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.Check() == nil {
				t.Errorf("%+v is accepted", c)
			}
		})
	}
	f("no port", Config{Address: "smtp.example.com", From: "a@example.com"})
	f("no sender", Config{Address: "smtp.example.com:587"})
	f("password in the clear", Config{Address: "smtp.example.com:25", From: "a@example.com", User: "a", Encryption: Plain})
}
