package witness

import "context"

// AskOnce asks one witness for the last checkpoint.
func (c *Collector) AskOnce(ctx context.Context, peer Peer) error {
	return (&asker{Collector: c, peer: peer}).last(ctx)
}
