package assay

// Hash is a SHA-256.
type Hash [32]byte

// Determination is the record of how the index of one slot came to be. Every published value has one; so has a slot whose
// value was taken back. The records of a series are a chain: each carries the hash of the one before it.
type Determination struct {
	Line
	Grain       Grain
	At          int64 // the instant the window ends, which names the slot
	From        int64 // the instant it begins
	Revision    int   // 0 is the first; a restatement makes the next
	Methodology string
	Receipt     int64 // what the store had received up to this number was known, nothing behind it
	PublishedAt int64

	HasValue     bool // false when a restatement took the value back
	Value        Nanos
	Transactions int   // that counted
	HourMicros   int64 // GPU-hours of those, in millionths
	Providers    int
	HHI          int // concentration of the providers, 0 to 10,000
	Low          Nanos
	High         Nanos
	Median       Nanos
	Excluded     Exclusions
	Adjusted     Adjustments

	Inputs   Hash // of the ordered transactions of the window, those left out among them
	Previous Hash // of the record before this one in its series; zero at the first
	Hash     Hash // of this record
}

// Exclusions count the transactions of a window that did not count, by reason.
type Exclusions struct {
	Unverified int // never verified
	Withdrawn  int // verified once, and withdrawn since
}

// Adjustments count what the methodology's optional rules changed.
type Adjustments struct {
	Winsorized int // transactions whose price was drawn to a percentile
	Capped     int // providers whose weight was cut to the share allowed
}

// Revision is a determination as readers of a series need it.
type Revision struct {
	Point
	Number  int   // of the determination
	Gone    bool  // there is no value any more; Value means nothing
	Version int64 // of the publication that made it
}

// Publication is one version of everything that is published.
type Publication struct {
	Version     int64
	PublishedAt int64
	Methodology string
	Receipt     int64  // what the store had received up to this number was known
	Reason      string // of a restatement; empty for the regular ones
	Actor       string // who restated
}

// MethodologyFile is a version of the rules as the operator wrote it.
type MethodologyFile struct {
	Version   string
	Effective int64 // slots that end at or after this instant follow it
	Adopted   int64
	Text      string // TOML
}

// Manifest is the signed list of one day's records.
type Manifest struct {
	Day       int64 // midnight UTC; the records of slots that end inside the day
	Revision  int   // 0 is the first; a restatement of the day makes the next
	Records   int
	Digest    Hash // of the records' hashes in order
	SignedAt  int64
	Previous  Hash   // of the manifest before this one; zero at the first
	Hash      Hash   // of this manifest's text, which is what is signed
	PublicKey []byte // Ed25519
	Signature []byte
}
