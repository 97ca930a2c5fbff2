package assay

// Restatement says that rows of a family that came late count from an instant on.
type Restatement struct {
	Number   int64 // from 1 on
	At       int64 // from when on they count
	Family   Family
	From, To int64  // the rows that are about [From, To), and were received up to At
	Reason   string // everyone can read it
	Actor    string // who has restated it; not public
}
