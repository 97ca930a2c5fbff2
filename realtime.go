package assay

// RealtimePrint is the index over the 60 minutes that end at an instant. It indicates where the running hour stands. It
// is not a published value, and is deleted after two days.
type RealtimePrint struct {
	At           int64
	Value        Nanos
	Transactions int
	HourMicros   int64 // GPU-hours in millionths
}

// RealtimeWindow is the length of a real-time print's window.
const RealtimeWindow = Hour
