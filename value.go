package assay

// ValueRecord is the record of a value that is final, of a family other than the GPU index: what a Determination is to
// that index.
type ValueRecord struct {
	Number      int64  // from 1 on, in the order in which they were made
	Index       string // what it is a value of; see package values
	Series      string // of the index
	Day         int64  // midnight UTC
	Revision    int    // from 0 on: each restatement that changes the value makes one
	Numbers     string // as a JSON object
	Methodology string // the version in effect when its day ended
	KnownAt     int64  // the rows that were received up to here, and the restatements, are those it follows from
	Inputs      Hash   // of the rows of its day
	Hash        Hash
}
