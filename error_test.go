package assay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAsError_HidesInternals(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.7:5432: password of assay refused")
	e := AsError(fmt.Errorf("read the keys: %w", cause))
	if e.Kind != Internal || e.Code != "internal" {
		t.Errorf("got kind %d and code %q", e.Kind, e.Code)
	}
	for _, internal := range []string{"10.0.0.7", "password", "keys"} {
		if strings.Contains(e.Message, internal) {
			t.Errorf("the caller reads %q in %q", internal, e.Message)
		}
	}
	if !errors.Is(e, cause) || !strings.Contains(e.Error(), cause.Error()) {
		t.Errorf("the log does not get the cause: %v", e)
	}
}

func TestAsError_FindsOurs(t *testing.T) {
	t.Parallel()
	ours := &Error{Kind: NotFound, Code: "unknown_region", Message: "No such region."}
	if got := AsError(fmt.Errorf("respond: %w", ours)); got != ours {
		t.Errorf("got %+v", got)
	}
	if ours.Error() != "No such region." || ours.Unwrap() != nil {
		t.Errorf("without a cause the text is %q, the cause %v", ours.Error(), ours.Unwrap())
	}
}

// A client's error also says which request it was.
func TestError_NamesTheRequest(t *testing.T) {
	t.Parallel()
	e := &Error{Kind: TooMany, Message: "Too fast.", RequestID: "try-1"}
	if got, want := e.Error(), "Too fast. (request try-1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.Err = errors.New("the cause")
	if got, want := e.Error(), "Too fast.: the cause (request try-1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
