package assay

// RealtimePrint is a print of the running hour: the index over the 60 minutes that end at an instant. It indicates where the running hour
// stands; it is not a published value and is kept for two days.
type RealtimePrint struct {
	At           int64
	Value        Nanos
	Transactions int
	HourMicros   int64 // GPU-hours in millionths
}

// RealtimeWindow is how far back a real-time print looks.
const RealtimeWindow = Hour
