package assay

// EventKind is a kind of events of the stream.
type EventKind uint8

// The kinds.
const (
	PrintEvent       EventKind = iota // a real-time print
	HourEvent                         // an hourly value was published
	DayEvent                          // a daily value was published
	PriceEvent                        // the current price of a GPU model has changed
	CorrectionEvent                   // a restatement changed a value, or the values of a family
	ObservationEvent                  // observations of a family other than the GPU index were received
	NoticeEvent                       // a notice to readers
	NumEventKinds
)

var eventNames = [NumEventKinds]string{
	PrintEvent: "print", HourEvent: "hour", DayEvent: "day", PriceEvent: "price", CorrectionEvent: "correction",
	ObservationEvent: "observation", NoticeEvent: "notice",
}

// String is the name of the events.
func (k EventKind) String() string { return eventNames[k] }
