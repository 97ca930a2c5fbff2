package assay

import (
	"encoding/json"
	"testing"
)

func TestMicros_JSON(t *testing.T) {
	t.Parallel()
	f := func(m Micros, text string) {
		t.Helper()
		got, err := json.Marshal(m)
		if err != nil || string(got) != text || m.String() != text {
			t.Errorf("%d is written %s (%v), want %s", int64(m), got, err, text)
		}
		var back Micros
		if err := json.Unmarshal(got, &back); err != nil || back != m {
			t.Errorf("%s is read back as %d (%v)", got, int64(back), err)
		}
	}
	f(0, "0")
	f(1, "0.000001")
	f(-1, "-0.000001")
	f(52_520_008, "52.520008")
	f(-122_400_000, "-122.4")
	f(180_000_000, "180")
	var m Micros
	if err := json.Unmarshal([]byte("1.0000001"), &m); err == nil {
		t.Errorf("seven decimals became %d", int64(m))
	}
}
