package verify

import (
	"fmt"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/anchor"
	"github.com/assaydata/assay/internal/proof"
)

// Anchors counts the timestamps of checkpoints.
type Anchors struct {
	Count       int
	First, Last int64    // their times
	Authorities []string // the subjects of the certificates that signed them
}

// stampedWithin is how long after a checkpoint its timestamp may be: it is asked for on the day of the checkpoint. An
// operator who makes up old checkpoints gets only new timestamps for them.
const stampedWithin = assay.Day

// maxSkew is how far the operator's clock may be from that of the authority, and from that of the verifier.
const maxSkew = assay.Hour

func anchorName(a *proof.Anchor) string {
	return fmt.Sprintf("anchor of the checkpoint of %d entries of the log", a.Size)
}

// anchor checks the anchor of a checkpoint, if there is one. The text is what the operator has signed.
func (w *logWalk) anchor(c *proof.SignedCheckpoint, text string) error {
	if len(w.anchors) == 0 || w.anchors[0].Size != c.Size {
		return nil
	}
	a := &w.anchors[0]
	w.anchors = w.anchors[1:]
	token, err := anchor.Open(a.Token, text)
	switch now := w.v.Now; {
	case err != nil:
		return differs("%s: %v", anchorName(a), err)
	case token.Time != a.StampedAt:
		return differs("%s: its token is of %s, and the database says %s", anchorName(a),
			assay.FormatInstant(token.Time), assay.FormatInstant(a.StampedAt))
	case token.Time < c.SignedAt-maxSkew, token.Time > c.SignedAt+stampedWithin+maxSkew:
		return differs("%s: it is of %s, and the checkpoint is said to be of %s", anchorName(a),
			assay.FormatInstant(token.Time), assay.FormatInstant(c.SignedAt))
	case now != 0 && token.Time > now+maxSkew:
		return differs("%s: it is of %s, and that is in the future", anchorName(a), assay.FormatInstant(token.Time))
	}
	w.v.report.Anchors.add(token)
	return nil
}

func (r *Anchors) add(t anchor.Token) {
	if r.Count == 0 {
		r.First, r.Last = t.Time, t.Time
	}
	r.Count++
	r.First, r.Last = min(r.First, t.Time), max(r.Last, t.Time)
	if !slices.Contains(r.Authorities, t.Signer) {
		r.Authorities = append(r.Authorities, t.Signer)
	}
}
