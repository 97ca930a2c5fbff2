//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// attack is one thing that the review did. Its item is the number in the list of findings, which the document shows.
type attack struct {
	item int
	name string
	run  func(ctx context.Context, s *site) (effect, error)
}

// effect is what an attack achieved.
type effect struct {
	text string
	harm bool
}

func harmIf(harm bool, format string, args ...any) effect {
	return effect{text: fmt.Sprintf(format, args...), harm: harm}
}

type row struct {
	attack        attack
	before, after effect
}

var attacks = []attack{
	{1, "27 anonymous requests for token prices of the past, at once", pastModels},
	{2, "unknown session tokens: 2,000 requests to sign out, 2,000 for the account", unknownSessions},
	{3, "`/health` over 5,000 connections", healthFlood},
	{4, "300 idle connections of one address, 256 descriptors", idleConnections},
	{5, "ten wrong passwords for an account whose owner signs in elsewhere", lockOut},
	{6, "300 guesses from 300 addresses at once", guesses},
	{7, "150 rotations of one key", rotations},
	{8, "a session's token is used after its browser signed in again", oldSession},
	{9, "passwords `password1234` and `aaaaaaaaaaaa`", weakPasswords},
	{12, "sign-in through a proxy that ends TLS", plainCookie},
	{13, "an anonymous response without an `Origin`, kept by a shared cache", cachedWithoutOrigin},
	{14, "100 requests with invented `X-Forwarded-For` through a proxy that sets `Forwarded`", twoHeaders},
	{15, "a key sent as the method; 50 clients that hang up", noisyLog},
	{16, "a new database in a folder that everyone can read", openFiles},
	{17, "`ASSAY_STORE='host=db password=…'`", passwordFolder},
	{18, "a bundle whose README links to `/dev/zero`", endlessBundle},
	{18, "a zstd file of 32 KB that expands to 1 GB", compressedFile},
	{18, "a Parquet file of one page with 30 million values", largePage},
	{19, "a provider's name with a right-to-left override", hiddenCharacters},
}

// table is the effects in Markdown.
func table(rows []row, before bool) string {
	var b strings.Builder
	if before {
		b.WriteString("| # | attack | before | now |\n|--:|---|---|---|\n")
	} else {
		b.WriteString("| # | attack | now |\n|--:|---|---|\n")
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d | %s |", r.attack.item, r.attack.name)
		if before {
			fmt.Fprintf(&b, " %s |", r.before.text)
		}
		fmt.Fprintf(&b, " %s |\n", r.after.text)
	}
	return b.String()
}

// conclude prints the table, writes it into the document, and returns an error that names every attack that did harm.
func conclude(o options, rows []row) error {
	text := report.By(time.Now(), "./tools/attacks", o.args) +
		fmt.Sprintf("- %s, load %s at the end\n\n", report.CPU(), report.Load()) + table(rows, o.before != "")
	fmt.Print(text)
	var harmed []error
	for _, r := range rows {
		if r.after.harm {
			harmed = append(harmed, fmt.Errorf("%s: %s", r.attack.name, r.after.text))
		}
	}
	if len(harmed) > 0 || o.update == "" {
		return errors.Join(harmed...)
	}
	fmt.Fprintln(os.Stderr, "attacks: writing", o.update)
	return section.Update(o.update, text)
}
