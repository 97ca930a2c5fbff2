package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRows(t *testing.T) {
	t.Parallel()
	f := func(name string, most int, newest bool, body, want string, total int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 7, len(body)} { // however the parts arrive
				r := newRows(most, newest)
				for rest := body; rest != ""; {
					part := rest[:min(size, len(rest))]
					rest = rest[len(part):]
					if n, err := r.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatal(n, err)
					}
				}
				if got := string(r.whole()); got != want || r.total != total || r.err != nil {
					t.Errorf("in parts of %d: %s, %d rows, %v\nwant %s, %d rows", size, got, r.total, r.err, want, total)
				}
			}
		})
	}
	const series = `{"success":true,"count":3,"data":[{"a":1},{"a":2},{"a":3}]}`
	f("all rows", 0, false, series, series, 3)
	f("reversed", 0, true, series, `{"success":true,"count":3,"data":[{"a":3},{"a":2},{"a":1}]}`, 3)
	f("the first", 2, false, series, `{"success":true,"count":3,"data":[{"a":1},{"a":2}]}`, 3)
	f("the first, reversed", 2, true, series, `{"success":true,"count":3,"data":[{"a":2},{"a":1}]}`, 3)
	f("none", 2, false, `{"data":[]}`, `{"data":[]}`, 0)
	f("sites", 1, false, `{"sites":[{"x":[1,2]},{"y":"]"}],"z":[1]}`, `{"sites":[{"x":[1,2]}],"z":[1]}`, 2)
	f("brackets in texts", 1, false, `{"t":"\"data\":[","data":["a],\\","b\"]"]}`, `{"t":"\"data\":[","data":["a],\\"]}`, 2)
	f("another list first", 1, false, `{"x":[1,2,3],"data":[4,5]}`, `{"x":[1,2,3],"data":[4]}`, 2)
	f("a list inside of an object", 1, false, `{"query":{"data":[1,2]},"data":[3,4]}`, `{"query":{"data":[1,2]},"data":[3]}`, 2)
	f("an object", 1, false, `{"data":{"data":[1,2]}}`, `{"data":{"data":[1,2]}}`, 0)
	f("two lists", 1, false, `{"data":[1,2],"sites":[3,4]}`, `{"data":[1],"sites":[3,4]}`, 2)
	f("a name that begins like one", 1, false, `{"database":[1,2],"dat":[3]}`, `{"database":[1,2],"dat":[3]}`, 0)
	f("a text that is the name", 1, false, `{"x":"data","y":[1,2]}`, `{"x":"data","y":[1,2]}`, 0)
	f("a list at the top", 1, false, `[1,2]`, `[1,2]`, 0)
	f("no JSON", 1, false, `<html>[}]"data"`, `<html>[}]"data"`, 0)
	f("nothing", 1, false, ``, ``, 0)
}

// A response without an end takes a bounded amount of memory, unless its rows are left out.
func TestRows_Long(t *testing.T) {
	t.Parallel()
	f := func(name, begin, part string, long bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRows(10, false)
			_, _ = r.Write([]byte(begin))
			for range 3 * maxText / len(part) {
				_, _ = r.Write([]byte(part))
			}
			if (r.err != nil) != long || r.size > maxText+1 {
				t.Errorf("it keeps %d bytes, %v", r.size, r.err)
			}
		})
	}
	f("rows", `{"data":[`, strings.Repeat(`{"a":1},`, 100), false)
	f("one row", `{"data":["`, strings.Repeat("a", 1000), true)
	f("a head", `{"x":"`, strings.Repeat("a", 1000), true)
	f("a tail", `{"data":[1],"x":"`, strings.Repeat("a", 1000), true)
	f("no JSON", ``, strings.Repeat("[", 1000), true)
}

// FuzzRows compares the rows that are kept with those that encoding/json finds.
func FuzzRows(f *testing.F) {
	f.Add(`{"success":true,"data":[{"a":"\"]"},[1,[2]],3],"z":1}`, 2)
	f.Add(`{"x":{"data":[1]},"data":[] }`, 1)
	f.Fuzz(func(t *testing.T, body string, most int) {
		var parsed map[string]json.RawMessage
		var list []json.RawMessage
		plain := strings.Count(body, `"data"`) == 1 && !strings.Contains(body, `"sites"`) && !strings.Contains(body, `\`)
		if json.Unmarshal([]byte(body), &parsed) != nil || json.Unmarshal(parsed["data"], &list) != nil || list == nil || !plain {
			return // only that it ends
		}
		r := newRows(most, false)
		_, _ = r.Write([]byte(body))
		if most > 0 && len(list) > most {
			list = list[:most]
		}
		var got struct {
			Data []json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(r.whole(), &got); err != nil && !strings.Contains(body, `"data" `) {
			t.Fatalf("%s: %v", r.whole(), err)
		}
		if most >= 0 && cmp.Diff(len(list), len(got.Data)) != "" {
			t.Errorf("%s has %d rows, want %d of %s", r.whole(), len(got.Data), len(list), body)
		}
	})
}
