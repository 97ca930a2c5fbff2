package main

import (
	"errors"
	"net"
	netmail "net/mail"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/mail"
	"github.com/assaydata/assay/internal/notify"
	"github.com/assaydata/assay/internal/webhook"
)

// alertConfig is how alerts are delivered.
type alertConfig struct {
	allow        []netip.Prefix
	smtp         mail.Config
	passwordFile string
}

func (c *alertConfig) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	parsedFlag(flags, "webhook-allow", listFlag, "",
		"`CIDR,…` of networks that webhooks may reach although they are not public, also without TLS and on any port",
		func(text string) (err error) {
			c.allow, err = parsePrefixes(text)
			return err
		})
	parsedFlag(flags, "smtp", textFlag, "", "`HOST:PORT` of the mail server that sends alerts (default: no mail)",
		func(text string) error {
			if host, port, err := net.SplitHostPort(text); err != nil || host == "" || port == "" {
				return errors.New("must be HOST:PORT, for example smtp.example.com:587")
			}
			c.smtp.Address = text
			return nil
		})
	parsedFlag(flags, "smtp-from", textFlag, "", "`ADDRESS` that mails come from (required with --smtp)",
		func(text string) error {
			if _, err := netmail.ParseAddress(text); err != nil {
				return errors.New("must be an address such as alerts@example.com")
			}
			c.smtp.From = text
			return nil
		})
	flags.StringVar(&c.smtp.User, "smtp-user", "", "`NAME` to sign in to the mail server with (default: without)")
	flags.StringVar(&c.passwordFile, "smtp-password-file", "", "`FILE` with the password for --smtp-user")
	c.smtp.Encryption = mail.StartTLS
	addChoiceFlag(cmd, &c.smtp.Encryption, "smtp-encryption", "`HOW` the connection to the mail server is encrypted: "+
		oneOf(mail.Encryptions), mail.Encryptions...)
}

// mail is how mails are sent, or nil if they are not.
func (c *alertConfig) mail() (*mail.Config, error) {
	if c.smtp.Address == "" {
		if c.smtp.From != "" || c.smtp.User != "" || c.passwordFile != "" {
			return nil, usagef("--smtp is required with --smtp-from, --smtp-user and --smtp-password-file")
		}
		return nil, nil //nolint:nilnil // no mail is not an error
	}
	config := c.smtp
	switch {
	case config.From == "":
		return nil, usagef("--smtp-from is required with --smtp")
	case (config.User == "") != (c.passwordFile == ""):
		return nil, usagef("--smtp-user and --smtp-password-file need each other")
	}
	if c.passwordFile != "" {
		text, err := os.ReadFile(c.passwordFile)
		if err != nil {
			return nil, usagef("invalid value for --smtp-password-file: %w", err)
		}
		if config.Password = strings.TrimSpace(string(text)); config.Password == "" {
			return nil, usagef("invalid value %q for --smtp-password-file: the file is empty", c.passwordFile)
		}
	}
	if err := config.Check(); err != nil {
		return nil, usagef("invalid value for --smtp: %w", err)
	}
	return &config, nil
}

// newAlerts makes the part that evaluates and delivers alerts. It gets its store when that is open.
func (n *node) newAlerts() (*notify.Service, error) {
	config, err := n.config.alerts.mail()
	if err != nil {
		return nil, err
	}
	return &notify.Service{
		Accounts: n.accounts, Mail: config, Now: n.now, Log: n.log, Sender: &webhook.Sender{
			Allowed: n.config.alerts.allow, Agent: "Assay-Webhook/" + assay.Release(), Now: n.now,
		},
	}, nil
}
