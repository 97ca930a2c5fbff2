package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// nodeConfig is what a node of several can be told. The demo is always one alone.
type nodeConfig struct {
	role  assay.NodeRole
	drain time.Duration // how long /health is 503 before the server stops listening
	read  place         // the replica that the data are read from; nowhere: the store itself
}

// maxDrain is longer than any balancer takes to notice.
const maxDrain = 10 * time.Minute

func (c *nodeConfig) register(flags *flag.FlagSet) {
	flags.Func("role", fmt.Sprintf("`ROLE` of this node: %s, %s or %s (default %s)", assay.RoleAll, assay.RoleRead, assay.RolePublish, assay.RoleAll), func(s string) error {
		if !slices.Contains(assay.NodeRoles, assay.NodeRole(s)) {
			return fmt.Errorf("allowed are %s, %s and %s", assay.RoleAll, assay.RoleRead, assay.RolePublish)
		}
		c.role = assay.NodeRole(s)
		return nil
	})
	flags.Func("drain", "`TIME` for which /health is 503 before an interrupt ends the listening, such as 10s (default 0s)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > maxDrain {
			return errors.New("allowed is a time from 0s to 10m")
		}
		c.drain = d
		return nil
	})
	flags.StringVar(&c.read.store, "store-read", "", "`ADDRESS` of a streaming replica of --store that the data are read from, postgres://…; a password is better told in ASSAY_STORE_READ (default --store)")
}

// check refuses what does not go together. It is silent about addresses, which may hold a password.
func (c *nodeConfig) check(at place) error {
	switch {
	case c.read.store == "":
		return nil
	case !c.role.Reads():
		return usageError{fmt.Errorf("--store-read is for nodes that read: allowed are --role %s and --role %s", assay.RoleRead, assay.RoleAll)}
	case !store.IsPostgres(at.store):
		return usageError{errors.New("--store-read is a replica of --store, which must be one of PostgreSQL: --store postgres://…")}
	case !store.IsPostgres(c.read.store):
		return usageError{errors.New("--store-read must be the address of a replica of PostgreSQL: postgres://…")}
	}
	return nil
}

// waits tells whether this node waits for a database that is away when it starts. Who runs a single one is told at once.
func (c *nodeConfig) waits() bool { return c.role != assay.RoleAll }

// verb says what this node does, for who starts it.
func (c *nodeConfig) verb() string {
	if c.role.Reads() {
		return "serves"
	}
	return "publishes"
}
