package notify

import (
	"sync/atomic"

	"github.com/assaydata/assay/internal/store"
)

// Attempts is how many attempts to deliver this node has made since it started.
type Attempts struct{ WebhooksDelivered, WebhooksFailed, MailsDelivered, MailsFailed uint64 }

// attempts counts them, by whether they are mails and whether they were delivered.
type attempts [2][2]atomic.Uint64

func (a *attempts) count(kind string, delivered bool) {
	row, column := 0, 0
	if kind == store.MailEndpoint {
		row = 1
	}
	if delivered {
		column = 1
	}
	a[row][column].Add(1)
}

// Attempts can be called at any time.
func (s *Service) Attempts() Attempts {
	a := &s.attempts
	return Attempts{
		WebhooksDelivered: a[0][1].Load(), WebhooksFailed: a[0][0].Load(),
		MailsDelivered: a[1][1].Load(), MailsFailed: a[1][0].Load(),
	}
}
