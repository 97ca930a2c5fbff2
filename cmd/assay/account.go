package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
)

var accountCommand = &command{
	name: "account", arguments: "add|list|show|close|password [EMAIL] [flags]", summary: "make, list and close accounts, set their passwords",
	details: `  assay account add EMAIL [--name NAME] [--password-stdin | --no-password]
  assay account list
  assay account show EMAIL
  assay account password EMAIL [--password-stdin]
  assay account close EMAIL

An account signs in to the dashboard. A password is made and shown once on standard output, or read from the
first line of standard input: 12 to 128 characters. Without one the account signs in by OpenID Connect. Access comes from
assay grant or from an organization (assay org). A new password ends the account's sessions; closing it ends its
sessions and keys for good, and its email address stays taken.`,
	run: runAccount,
}

// accountConfig is what the command is told.
type accountConfig struct {
	name          string
	passwordStdin bool
	noPassword    bool
}

func runAccount(ctx context.Context, c *command, args []string, s streams) error {
	var config accountConfig
	flags := newFlags(c, s)
	flags.StringVar(&config.name, "name", "", "`NAME` of the person, up to 64 characters")
	flags.BoolVar(&config.passwordStdin, "password-stdin", false, "read the password from standard input")
	flags.BoolVar(&config.noPassword, "no-password", false, "make an account without a password")
	return runVerb(ctx, c, flags, []verb{
		{"add", []string{"EMAIL"}, []string{"name", "password-stdin", "no-password"}, true, config.add},
		{"list", nil, nil, false, listAccounts},
		{"show", []string{"EMAIL"}, nil, false, showAccount},
		{"close", []string{"EMAIL"}, nil, false, closeAccount},
		{"password", []string{"EMAIL"}, []string{"password-stdin"}, false, config.password},
	}, args, s)
}

func (c *accountConfig) add(ctx context.Context, people *account.Service, args []string, s streams) error {
	if c.passwordStdin && c.noPassword {
		return usageError{errors.New("--password-stdin and --no-password exclude each other")}
	}
	password, err := "", error(nil)
	if !c.noPassword {
		if password, err = c.readPassword(s.in); err != nil {
			return err
		}
	}
	a, err := people.AddAccount(ctx, args[0], c.name, password)
	if err != nil {
		return err
	}
	c.showPassword(password, s)
	fmt.Fprintf(s.err, "added the account %s\n", a.Email)
	return nil
}

func (c *accountConfig) password(ctx context.Context, people *account.Service, args []string, s streams) error {
	password, err := c.readPassword(s.in)
	if err != nil {
		return err
	}
	if err := people.SetPassword(ctx, args[0], password); err != nil {
		return err
	}
	c.showPassword(password, s)
	fmt.Fprintln(s.err, "set the password; the account's sessions have ended")
	return nil
}

// readPassword reads a password from the first line of standard input, or makes one.
func (c *accountConfig) readPassword(in io.Reader) (string, error) {
	if !c.passwordStdin {
		return account.NewPassword(), nil
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("read the password: standard input has none")
	}
	return line, nil
}

// showPassword shows a password that was made here.
func (c *accountConfig) showPassword(password string, s streams) {
	if password != "" && !c.passwordStdin {
		fmt.Fprintln(s.out, password)
		fmt.Fprintln(s.err, "made the password; it is shown this once")
	}
}

func closeAccount(ctx context.Context, people *account.Service, args []string, s streams) error {
	if err := people.CloseAccount(ctx, args[0]); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "closed %s; its sessions and keys have ended\n", args[0])
	return nil
}

func listAccounts(_ context.Context, people *account.Service, _ []string, s streams) error {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EMAIL\tPLAN\tFROM\tUNTIL\tCREATED\tSTATE")
	for _, v := range people.Accounts() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Email, v.Plan, planSource(v), instantOr(v.PlanUntil, "-"), assay.FormatInstant(v.CreatedAt), accountState(v))
	}
	return table.Flush()
}

func accountState(v account.View) string {
	if v.ClosedAt != 0 {
		return "closed " + assay.FormatInstant(v.ClosedAt)
	}
	return "open"
}

// planSource is where an account's plan comes from, for people.
func planSource(v account.View) string {
	switch v.Source {
	case "":
		return "-"
	case "organization":
		return v.Organization
	}
	return v.Source
}

func showAccount(ctx context.Context, people *account.Service, args []string, s streams) error {
	v, err := people.AccountByEmail(args[0])
	if err != nil {
		return err
	}
	list, err := people.KeysOf(ctx, v.ID)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")) }
	row("email", v.Email)
	row("name", v.Name)
	row("state", accountState(v))
	row("signs in by", signsInBy(v))
	row("plan", fmt.Sprintf("%s, from %s, until %s", v.Plan, planSource(v), instantOr(v.PlanUntil, "-")))
	row("may create", v.KeyTier)
	for _, g := range v.Grants {
		row("grant", grantText(g))
	}
	for _, o := range v.Organizations {
		row("organization", fmt.Sprintf("%s, %s, plan %s", o.Name, o.Role, o.Plan))
	}
	for _, k := range list {
		row("key", fmt.Sprintf("%s_…, %q, %s, until %s, last used %s", k.Prefix, k.Name, k.Status, instantOr(k.ExpiresAt, "-"), instantOr(k.LastUsedAt, "never")))
	}
	return table.Flush()
}

func signsInBy(v account.View) string {
	var ways []string
	if v.HasPassword {
		ways = append(ways, "password")
	}
	if v.Issuer != "" {
		ways = append(ways, v.Issuer)
	}
	return strings.Join(ways, ", ")
}
