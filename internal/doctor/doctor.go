// Package doctor examines what a server depends on and cannot change: the machine, and what its settings point to. It
// finds what would otherwise show up later and elsewhere: a full disk as a late value, a wrong clock as a sign-in that
// fails.
//
// Each function examines one thing and returns findings: that it is in order, or what is wrong, with the command or
// the setting that mends it. Nothing lasting is changed. What belongs together, and which settings there are, is the
// caller's: cmd/assay has both.
package doctor

import "fmt"

// Level says how much a finding matters.
type Level string

// Levels. A server with a warning works, but not as well, as safely or as long as it should; with a problem it does not
// start, or loses or reveals something.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Finding is the result for one thing.
type Finding struct {
	Subject string `json:"subject"` // such as clock, or the flag that it is about
	Level   Level  `json:"level"`
	Text    string `json:"text"`
	Fix     string `json:"fix,omitempty"` // what to do about it
}

func ok(subject, format string, args ...any) Finding {
	return Finding{Subject: subject, Level: OK, Text: fmt.Sprintf(format, args...)}
}

func problem(subject, fix, format string, args ...any) Finding {
	return Finding{Subject: subject, Level: Problem, Text: fmt.Sprintf(format, args...), Fix: fix}
}

func warning(subject, fix, format string, args ...any) Finding {
	return Finding{Subject: subject, Level: Warning, Text: fmt.Sprintf(format, args...), Fix: fix}
}

// Check is a finding about an attempt: in order without an error, otherwise a problem.
func Check(subject, inOrder string, err error, fix string) Finding {
	if err == nil {
		return ok(subject, "%s", inOrder)
	}
	return problem(subject, fix, "%v", err)
}
