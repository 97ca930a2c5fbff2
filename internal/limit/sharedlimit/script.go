package sharedlimit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/internal/limit"
)

//go:embed window.lua
var windowScript string

// request is what the script decides on: a request that counts as cost requests, of which a window admits most.
type request struct {
	most   int
	window time.Duration
	cost   int
}

// command is the call of the script for one request.
func (r *Redis) command(ctx context.Context, name string, q request) *redis.IntSliceCmd {
	return redis.NewIntSliceCmd(ctx, "evalsha", r.script.Hash(), 1, name, q.most, q.window.Microseconds(), q.cost)
}

// decision reads the script's reply.
func decision(command *redis.IntSliceCmd) (limit.Decision, error) {
	reply, err := command.Result()
	if err != nil {
		return limit.Decision{}, err
	}
	if len(reply) != 3 {
		return limit.Decision{}, fmt.Errorf("the script replied with %d numbers, not 3", len(reply))
	}
	return limit.Decision{
		Allowed:   reply[0] == 1,
		Remaining: int(reply[1]),
		Reset:     time.Duration(reply[2]) * time.Microsecond,
	}, nil
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
