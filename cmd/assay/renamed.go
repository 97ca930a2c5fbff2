package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// renamedUntil is the first release without the old names.
const renamedUntil = "0.6.0"

// addRenamedCommands keeps the names from before 0.5.0 working.
func addRenamedCommands(root *cobra.Command, s *streams) {
	keys := parentCommand(&cobra.Command{Use: "keys COMMAND", Short: "Old name of assay signing-key"},
		newSigningKeyInitCommand(s), newOldKeysShowCommand(s))
	root.AddCommand(
		renamed(s, "keys", "signing-key", keys),
		renamed(s, "verify-transaction", "transaction verify", newTransactionVerifyCommand(s)),
		renamed(s, "withdraw", "transaction withdraw", newTransactionWithdrawCommand(s)),
		renamed(s, "audit", "audit-log", newOldAuditCommand(s)),
	)
}

// renamed lets a command run under its old name, hidden from help and with a notice.
func renamed(s *streams, oldName, newName string, cmd *cobra.Command) *cobra.Command {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	cmd.Use = strings.TrimSpace(oldName + " " + arguments)
	cmd.Hidden = true
	for _, c := range append(cmd.Commands(), cmd) {
		c.PreRun = func(*cobra.Command, []string) {
			s.note("assay %s is now assay %s; the old name goes away in %s", oldName, newName, renamedUntil)
		}
	}
	return cmd
}
