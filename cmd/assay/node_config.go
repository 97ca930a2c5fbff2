package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/anchor"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/internal/witness"
)

// nodeConfig is how a node works with others. The demo is always a single node.
type nodeConfig struct {
	role    web.NodeRole
	drain   time.Duration    // how long /health is 503 before the server stops listening
	replica databaseLocation // the replica to read data from; empty: the store itself
	init    bool             // create a missing database
	upgrade bool             // bring the tables of an earlier release up to date
	horizon time.Duration    // how far past the newest transaction to publish

	witnesses []witness.Peer // that sign checkpoints
	anchor    string         // URL of the authority that stamps checkpoints; empty: none
	watch     string         // a folder whose files are imported; empty: none
}

// maxHorizon is as good as none.
const maxHorizon = 100 * 365 * 24 * time.Hour

// maxDrain is longer than any load balancer takes to notice.
const maxDrain = 10 * time.Minute

func (c *nodeConfig) register(cmd *cobra.Command) {
	roles := make([]string, len(web.NodeRoles))
	for i, role := range web.NodeRoles {
		roles[i] = string(role)
	}
	flags := cmd.Flags()
	parsedFlag(flags, "role", textFlag, string(c.role), "`ROLE` of this node: "+oneOf(roles), func(text string) error {
		if !slices.Contains(roles, text) {
			return fmt.Errorf("must be %s", oneOf(roles))
		}
		c.role = web.NodeRole(text)
		return nil
	})
	completeFlag(cmd, "role", roles...)
	addDurationFlag(flags, &c.drain, "drain", 0, maxDrain,
		"`TIME` for which /health is 503 after an interrupt before the server stops listening, such as 10s")
	flags.BoolVar(&c.init, "init", false, "create the database if there is none, without a signing key")
	flags.BoolVar(&c.upgrade, "upgrade", false, "upgrade the tables of an earlier release, as assay db upgrade does")
	addDurationFlag(flags, &c.horizon, "publish-horizon", time.Hour, maxHorizon,
		"`TIME` past the newest transaction up to which hours are published, even if they are empty")
	parsedFlag(flags, "witness", listFlag, "",
		"`KEY=URL,…` of witnesses that sign the checkpoints of the log, with the keys that assay witness prints",
		c.setWitnesses)
	addAddressFlag(flags, &c.anchor, "anchor",
		"`URL` of an authority for timestamps (RFC 3161) that stamps a checkpoint of the log each day", anchor.CheckURL)
	flags.StringVar(&c.watch, "watch", "", "`FOLDER` whose files are imported as they appear, in a folder for each family")
	addAddressFlag(flags, &c.replica.store, "store-read",
		"`ADDRESS` of a streaming replica of --store to read data from, postgres://…; pass passwords in ASSAY_STORE_READ",
		store.CheckAddress)
}

func (c *nodeConfig) setWitnesses(text string) error {
	c.witnesses = nil
	names := map[string]bool{}
	for _, part := range splitList(text) {
		peer, err := witness.ParsePeer(part)
		if err != nil {
			return err
		}
		if name := peer.Witness.Name(); names[name] {
			return fmt.Errorf("the witness %s is there twice", name)
		}
		names[peer.Witness.Name()] = true
		c.witnesses = append(c.witnesses, peer)
	}
	return nil
}

// check refuses settings that contradict each other. It does not show addresses, which may contain a password.
func (c *nodeConfig) check(location databaseLocation) error {
	switch {
	case c.init && !c.role.Publishes():
		return usagef("--init is for nodes that publish: use --role %s or --role %s", web.NodePublish, web.NodeAll)
	case len(c.witnesses) > 0 && !c.role.Publishes():
		return usagef("--witness is for nodes that publish: use --role %s or --role %s", web.NodePublish, web.NodeAll)
	case c.anchor != "" && !c.role.Publishes():
		return usagef("--anchor is for nodes that publish: use --role %s or --role %s", web.NodePublish, web.NodeAll)
	case c.watch != "" && !c.role.Publishes():
		return usagef("--watch is for nodes that publish: use --role %s or --role %s", web.NodePublish, web.NodeAll)
	}
	if info, err := os.Stat(c.watch); c.watch != "" && (err != nil || !info.IsDir()) {
		return usagef("--watch %s must be a folder that exists", c.watch)
	}
	switch {
	case c.replica.store == "":
		return nil
	case !c.role.Reads():
		return usagef("--store-read is for nodes that read: use --role %s or --role %s", web.NodeRead, web.NodeAll)
	case !store.IsPostgres(location.store):
		return usagef("--store-read is a replica of --store, which must be PostgreSQL: --store postgres://…")
	case !store.IsPostgres(c.replica.store):
		return usagef("--store-read must be the address of a PostgreSQL replica: postgres://…")
	}
	return nil
}

// waits reports whether this node waits for a database that is down when it starts. A single node fails instead, so
// that its operator notices.
func (c *nodeConfig) waits() bool { return c.role != web.NodeAll }

// verb says what this node does.
func (c *nodeConfig) verb() string {
	if c.role.Reads() {
		return "serves"
	}
	return "publishes"
}
