package assay

// Hash is a SHA-256 hash.
type Hash [32]byte

// Determination is the record of how the index of one slot was computed. Every published value has one, and so does a
// slot whose value was taken back. The records of a series form a chain: each contains the hash of the previous one.
type Determination struct {
	Line
	Grain        Grain
	At           int64 // when the window ends; identifies the slot
	From         int64 // when it begins
	Revision     int   // 0 is the first; a restatement makes the next
	Methodology  string
	Fallback     string // the name of the methodology's fallback that was used, if any
	DelaySeconds int    // from At to when it could be published, by the methodology; 0 in records before release 0.6.0
	Receipt      int64  // receipts up to this number were known
	PublishedAt  int64

	HasValue     bool // false if a restatement took the value back
	Value        Nanos
	Transactions int   // the number that counted
	HourMicros   int64 // their GPU-hours, in millionths
	Providers    int
	HHI          int    // concentration of the providers, 0 to 10,000
	Volumes      string // the GPU-hours by source and by evidence, as JSON; empty in records before release 0.6.0
	Low          Nanos
	High         Nanos
	Median       Nanos
	Excluded     Exclusions
	Adjusted     Adjustments

	Inputs   Hash // of the window's transactions in order, including excluded ones
	Previous Hash // of the previous record in the series; zero for the first
	Hash     Hash // of this record
}

// Exclusions count the transactions of a window that did not count, by reason.
type Exclusions struct {
	Unverified int // never verified
	Withdrawn  int // verified once, and withdrawn since
}

// Adjustments count what the methodology's optional rules changed.
type Adjustments struct {
	Winsorized int // transactions whose price was moved to a percentile
	Capped     int // providers whose weight was cut to the allowed share
}

// Revision is the part of a determination that readers of a series need.
type Revision struct {
	Point
	Number  int   // of the determination
	Gone    bool  // the value was taken back; Value is meaningless
	Version int64 // of the publication that made it
}

// Publication is one version of all published data.
type Publication struct {
	Version     int64
	PublishedAt int64
	Methodology string
	Receipt     int64  // receipts up to this number were known
	Reason      string // of a restatement; empty for the regular ones
	Actor       string // who restated
}

// MethodologyFile is one version of the methodology, as the operator wrote it.
type MethodologyFile struct {
	Version   string
	Effective int64 // slots that end at or after this instant follow it
	Adopted   int64
	Text      string // TOML
	Reason    string // of the change; empty in the built-in version, and in those of releases before 0.6.0
	Approver  string // who has approved it; likewise
}

// Manifest is the signed list of one day's records.
type Manifest struct {
	Day         int64 // midnight UTC; the records of slots that end inside the day
	Revision    int   // 0 is the first; a restatement of the day makes the next
	Publication int64 // it lists the day's records of all versions up to this one; 0 before release 0.6.0
	Receipt     int64 // that this version knew; 0 before release 0.6.0
	Records     int
	Revisions   int  // how many of the records replace others; 0 before release 0.6.0
	Digest      Hash // of the records' hashes in order
	SignedAt    int64
	Previous    Hash   // of the previous manifest; zero for the first
	Hash        Hash   // of this manifest's text, which is signed
	PublicKey   []byte // Ed25519
	Signature   []byte
}
