package assay

// Notice tells readers what happened, or will happen, to the index.
type Notice struct {
	Number   int64 // from 1 on
	At       int64 // when it was published
	Kind     NoticeKind
	GPU      string // that it is about; empty for all
	Region   string // of the series that it is about; empty for all
	About    int64  // the end of the day, or from when it applies; 0 if it is about no instant
	Text     string
	Actor    string // who has written it; empty for the publisher. It is not public, like the approver
	Approver string // who has approved it; empty for the publisher
}

// NoticeKind is a kind of notices.
type NoticeKind string

// The kinds.
const (
	NoValueNotice     NoticeKind = "no_value"    // a day of a series has no value
	FallbackNotice    NoticeKind = "fallback"    // a day was determined by a fallback of the methodology
	HistoryNotice     NoticeKind = "history"     // days without a value, or by a fallback, of history published at once
	MethodologyNotice NoticeKind = "methodology" // a version was adopted
	CessationNotice   NoticeKind = "cessation"   // a GPU model's series end
	ResumptionNotice  NoticeKind = "resumption"  // they continue
	MessageNotice     NoticeKind = "message"     // anything else
)
