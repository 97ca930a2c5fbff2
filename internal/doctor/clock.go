package doctor

import "time"

// Clock examines the clock: whether something keeps it right, and whether it is before an instant that has surely
// passed, such as when the program was built or the newest entry of the database was written. That instant is zero if
// none is known.
func Clock(now, passed time.Time, what string) Finding {
	const subject, fix = "clock", "set the clock and keep it right: timedatectl set-ntp true"
	if now.Before(passed) {
		return problem(subject, fix, "it is %s by the clock, which is before %s, %s",
			now.UTC().Format(time.RFC3339), what, passed.UTC().Format(time.RFC3339))
	}
	switch kept, known := clockKept(); {
	case known && !kept:
		return warning(subject, fix, "it is %s by the clock, and nothing keeps that right",
			now.UTC().Format(time.RFC3339))
	case !known:
		return ok(subject, "it is %s by the clock", now.UTC().Format(time.RFC3339))
	}
	return ok(subject, "it is %s by the clock, which a time service keeps right", now.UTC().Format(time.RFC3339))
}
