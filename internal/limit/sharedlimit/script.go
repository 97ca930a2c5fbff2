package sharedlimit

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/internal/limit"
)

//go:embed window.lua
var windowScript string

// recallChannel is the channel on which a node is asked to give leases back, without the node's name. The script has it
// too.
const recallChannel = "assay:limit:recall:"

// request is a call of the script: a request that counts as cost requests, of which a window admits most, and what the
// node says about its lease.
type request struct {
	name   string
	most   int
	window time.Duration
	cost   int  // 0 if the call is only about the lease, -1 to take back the request that was counted last
	hurry  bool // decide now, and count what other nodes have on lease as used
	lease  settlement
}

// settlement is what a node reports about a lease. The zero settlement is of a call that is not about the lease.
type settlement struct {
	sequence int64
	left     int // requests that the node may still admit
	want     int // how many it would like to have instead
	length   time.Duration
	ages     string // of the requests that it has admitted, in microseconds, with a space after each
}

// reply is the script's reply.
type reply struct {
	limit.Decision
	recalls   bool // the other nodes are asked for their leases: the request is to be repeated
	overtaken bool // a later call about the lease came first: this one has had no effect
	growth    int  // of the node's lease
}

// command is the call of the script.
func (r *Redis) command(ctx context.Context, q request) *redis.IntSliceCmd {
	recall := "yes"
	if _, single := r.client.(*redis.Client); !single {
		recall = "cluster"
	}
	if q.hurry {
		recall = "no"
	}
	args := []any{
		"evalsha", r.script.Hash(), 1, q.name,
		q.most, q.window.Microseconds(), q.cost, r.id, r.digits, recall, q.lease.sequence,
	}
	if s := q.lease; s.sequence != 0 {
		args = append(args, s.left, s.want, s.length.Microseconds(), s.ages)
	}
	return redis.NewIntSliceCmd(ctx, args...)
}

// readReply reads the script's reply.
func readReply(command *redis.IntSliceCmd) (reply, error) {
	n, err := command.Result()
	if err != nil {
		return reply{}, err
	}
	if len(n) != 4 {
		return reply{}, fmt.Errorf("the script replied with %d numbers, not 4", len(n))
	}
	return reply{
		Decision: limit.Decision{
			Allowed:   n[0] == 1,
			Remaining: int(n[1]),
			Reset:     time.Duration(n[2]) * time.Microsecond,
		},
		recalls:   n[0] == 2,
		overtaken: n[0] == 3,
		growth:    int(n[3]),
	}, nil
}

// appendAge appends the age of an admitted request to those of a settlement.
func appendAge(ages []byte, age time.Duration) []byte {
	return append(strconv.AppendInt(ages, max(0, age.Microseconds()), 10), ' ')
}

// sendAll sends commands together. Each command then holds its own error.
func sendAll(ctx context.Context, client redis.UniversalClient, commands []redis.Cmder) {
	pipe := client.Pipeline()
	for _, command := range commands {
		_ = pipe.Process(ctx, command)
	}
	_, _ = pipe.Exec(ctx)
}

// retryUndecided sends the commands again that no server has executed: a restarted server does not know the script,
// and in a cluster a window may have moved to another server.
func (r *Redis) retryUndecided(ctx context.Context, commands []redis.Cmder) {
	var again []redis.Cmder
	unknown := false
	for _, command := range commands {
		if err := command.Err(); err != nil && isUndecided(err) {
			unknown = unknown || isUnknownScript(err)
			again = append(again, command)
		}
	}
	if len(again) == 0 || unknown && r.load(ctx) != nil {
		return // the first replies stand
	}
	for _, command := range again {
		command.SetErr(nil)
	}
	sendAll(ctx, r.client, again)
}

func isUnknownScript(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }

func isUndecided(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, asking := redis.IsAskError(err)
	return moved || asking || redis.IsTryAgainError(err) || isUnknownScript(err)
}

// load sends the script to every server.
func (r *Redis) load(ctx context.Context) error {
	if cluster, ok := r.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, server *redis.Client) error {
			return r.script.Load(ctx, server).Err()
		})
	}
	return r.script.Load(ctx, r.client).Err()
}
