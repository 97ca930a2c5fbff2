// Package mail sends the mails of alerts through the operator's SMTP server.
package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Timeout bounds sending one mail.
const Timeout = 10 * time.Second

// The ways to encrypt the connection to the SMTP server.
const (
	StartTLS = "starttls" // required after the greeting
	TLS      = "tls"      // from the beginning
	Plain    = "none"     // not at all
)

// Encryptions lists the ways.
var Encryptions = []string{StartTLS, TLS, Plain}

// Config is how to reach the SMTP server.
type Config struct {
	Address    string // HOST:PORT
	From       string
	User       string // empty: without authentication
	Password   string
	Encryption string
	Roots      *tls.Config // for tests; nil: the system's certificates
}

// Check returns what is wrong with a configuration.
func (c *Config) Check() error {
	if _, _, err := c.hostPort(); err != nil {
		return err
	}
	if _, err := mail.ParseAddress(c.From); err != nil {
		return errors.New("the sender must be an address such as alerts@example.com")
	}
	if c.User != "" && c.Encryption == Plain {
		return errors.New("a password must not be sent without encryption")
	}
	return nil
}

func (c *Config) hostPort() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(c.Address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || host == "" || port < 1 || port > 65535 {
		return "", 0, errors.New("must be HOST:PORT, for example smtp.example.com:587")
	}
	return host, port, nil
}

// Message is one mail. Its id is the same in every attempt, so that a mailbox that gets it twice can tell.
type Message struct {
	ID      string
	To      string
	Subject string
	Text    string
}

// Send sends a mail. Its errors do not contain the password.
func (c *Config) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	host, port, err := c.hostPort()
	if err != nil {
		return err
	}
	message, err := c.compose(m)
	if err != nil {
		return err
	}
	// The client looks at the context only until it is connected.
	deadline, _ := ctx.Deadline()
	patience := gomail.WithTimeout(max(time.Until(deadline), time.Millisecond))
	client, err := gomail.NewClient(host, append(c.options(host), gomail.WithPort(port), patience)...)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, message)
}

func (c *Config) compose(m Message) (*gomail.Msg, error) {
	message := gomail.NewMsg()
	if err := message.From(c.From); err != nil {
		return nil, fmt.Errorf("sender: %w", err)
	}
	if err := message.To(m.To); err != nil {
		return nil, fmt.Errorf("recipient: %w", err)
	}
	sender, err := mail.ParseAddress(c.From)
	if err != nil {
		return nil, fmt.Errorf("sender: %w", err)
	}
	_, domain, _ := cutLast(sender.Address)
	message.SetMessageIDWithValue(m.ID + "@" + domain)
	message.SetDate()
	message.Subject(m.Subject)
	message.SetGenHeader("Auto-Submitted", "auto-generated") // no vacation notice comes back
	message.SetBodyString(gomail.TypeTextPlain, m.Text)
	return message, nil
}

// cutLast cuts an address at its last @.
func cutLast(address string) (local, domain string, ok bool) {
	for i := len(address) - 1; i >= 0; i-- {
		if address[i] == '@' {
			return address[:i], address[i+1:], true
		}
	}
	return address, "", false
}

func (c *Config) options(host string) []gomail.Option {
	var options []gomail.Option
	secure := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if c.Roots != nil {
		secure = c.Roots.Clone()
	}
	switch c.Encryption {
	case TLS:
		options = append(options, gomail.WithSSL(), gomail.WithTLSConfig(secure))
	case Plain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory), gomail.WithTLSConfig(secure))
	}
	if c.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthPlain), gomail.WithUsername(c.User),
			gomail.WithPassword(c.Password))
	}
	return options
}
