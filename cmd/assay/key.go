package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
)

var keyCommand = &command{
	name: "key", arguments: "create|list|revoke [flags] [ID]", summary: "make, list and revoke API keys",
	details: `  assay key create --tier premium|full --name NAME [--expires INSTANT]
  assay key create --account EMAIL --name NAME
  assay key list
  assay key revoke ID

A key is shown once, when it is made; only its hash is kept. A running server knows of a new or revoked key
within a second. A key is the operator's own, or of an account: then its tier follows from the account's
access, and it ends with that.`,
	run: runKey,
}

func runKey(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var at place
	at.register(flags, "assay-data")
	tier := flags.String("tier", "", "`TIER` of the new key: premium or full")
	account := flags.String("account", "", "`EMAIL` of the account whose key it is (default: the operator's own)")
	name := flags.String("name", "", "`NAME` of the new key, 1 to 64 characters")
	var expires int64
	instantFlag(flags, &expires, "expires", "`INSTANT` at which the new key ends (default: never)")
	action := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		action, args = args[0], args[1:]
	}
	if err := parse(flags, args); err != nil {
		return err
	}
	actions := map[string]func(context.Context, *store.DB) error{
		"create": func(ctx context.Context, db *store.DB) error {
			if *account != "" {
				return createKeyFor(ctx, db, s, *account, *tier, *name, expires)
			}
			return createKey(ctx, db, s, *tier, *name, expires)
		},
		"list":   func(ctx context.Context, db *store.DB) error { return listKeys(ctx, db, s) },
		"revoke": func(ctx context.Context, db *store.DB) error { return revokeKey(ctx, db, s, flags.Args()) },
	}
	act, ok := actions[action]
	if !ok {
		return usageError{errors.New("say what to do: create, list or revoke")}
	}
	db, err := openStore(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	return act(ctx, db)
}

func createKey(ctx context.Context, db *store.DB, s streams, tierName, name string, expires int64) error {
	tier, err := assay.ParseTier(tierName)
	if err != nil {
		return usageError{fmt.Errorf("--tier: %w", err)}
	}
	if n := len([]rune(name)); n < 1 || n > 64 {
		return usageError{fmt.Errorf("--name has %d characters: allowed are 1 to 64", n)}
	}
	if expires != 0 && expires <= time.Now().UnixMilli() {
		return usageError{fmt.Errorf("--expires %s is past", assay.FormatInstant(expires))}
	}
	secret, key, err := keys.Create(ctx, db, tier, name, expires)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, secret.Reveal())
	fmt.Fprintf(s.err, "made the %s key %s; it is shown this once\n", key.Tier, key.ID)
	return nil
}

// createKeyFor makes a key of an account.
func createKeyFor(ctx context.Context, db *store.DB, s streams, email, tier, name string, expires int64) error {
	if tier != "" || expires != 0 {
		return usageError{errors.New("--tier and --expires do not go with --account: both follow from the account's access")}
	}
	people, err := loadPeople(ctx, db)
	if err != nil {
		return err
	}
	secret, key, err := people.CreateKeyFor(ctx, email, name)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, secret.Reveal())
	fmt.Fprintf(s.err, "made the %s key %s of %s; it is shown this once\n", key.Tier, key.ID, email)
	return nil
}

func listKeys(ctx context.Context, db *store.DB, s streams) error {
	register, err := db.Directory(ctx)
	if err != nil {
		return err
	}
	owners := map[int64]string{0: "operator"}
	for _, a := range register.Accounts {
		owners[a.ID] = a.Email
	}
	ends := keys.NewEnds(&register)
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tKEY\tTIER\tNAME\tOWNER\tCREATED\tSTATE")
	for _, k := range register.Keys {
		fmt.Fprintf(table, "%s\t%s%s_…\t%s\t%s\t%s\t%s\t%s\n", k.ID, keys.Prefix(k.Tier), k.ID, k.Tier, k.Name, owners[k.AccountID],
			assay.FormatInstant(k.CreatedAt), keyState(k, ends.Of(k)))
	}
	return table.Flush()
}

func keyState(k store.Key, end int64) string {
	switch {
	case k.RevokedAt != 0:
		return "revoked " + assay.FormatInstant(k.RevokedAt)
	case end != 0 && end <= time.Now().UnixMilli():
		return "ended " + assay.FormatInstant(end)
	case end != 0:
		return "active until " + assay.FormatInstant(end)
	}
	return "active"
}

func revokeKey(ctx context.Context, db *store.DB, s streams, ids []string) error {
	if len(ids) != 1 {
		return usageError{errors.New("name one key by its id, as assay key list shows it")}
	}
	if err := db.RevokeKey(ctx, ids[0]); err != nil {
		return fmt.Errorf("revoke %s: %w", keys.Redact(ids[0]), err)
	}
	fmt.Fprintf(s.out, "revoked %s\n", ids[0])
	return nil
}
