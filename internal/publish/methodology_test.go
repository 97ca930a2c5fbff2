package publish

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// adopt adopts the built-in methodology, and after it version 1.1.0, which differs in one line.
func adopt(t *testing.T, db *store.DB, effective int64, was, is string) {
	t.Helper()
	if err := adoptPrompt(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(
		`"1.0.0"`, `"1.1.0"`, `2000-01-01T00:00:00Z`, assay.FormatInstant(effective), was, is,
	).Replace(promptText)
	file := assay.MethodologyFile{Version: "1.1.0", Effective: effective, Text: text}
	if err := db.AdoptMethodology(t.Context(), file, 0); err != nil {
		t.Fatal(err)
	}
}

// wantGoverned checks that slots before an instant follow 1.0.0 and its four decimals, and the others 1.1.0 and its
// one.
func wantGoverned(t *testing.T, db *store.DB, effective int64) {
	t.Helper()
	records, err := db.AppendRecords(t.Context(), nil, start, end+1)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, r := range records {
		want, unit := "1.0.0", assay.Unit(4)
		if r.At >= effective {
			want, unit = "1.1.0", assay.Unit(1)
		}
		seen[want]++
		if r.Methodology != want || r.Value%unit != 0 {
			t.Errorf("%s follows %s with %s, want %s", SlotOf(&r.Determination), r.Methodology, r.Value, want)
		}
	}
	if seen["1.0.0"] < 50 || seen["1.1.0"] < 50 {
		t.Errorf("the slots by version are %v: too few", seen)
	}
}

// A version governs exactly the slots that end at or after its effective instant, published and restated.
func TestMethodology_TakesEffect(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	for name, effective := range map[string]int64{
		"on the hour":    instant(7, 12, 0), // the slot that ends there is the first
		"after the hour": instant(7, 12, 0) + 1,
		"half past":      instant(7, 12, 30),
		"at the fixing":  instant(8, 20, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := loaded(t)
			adopt(t, db, effective, `decimals = 4`, `decimals = 1`)
			p, _ := newPublisher(db, end)
			ok(t)(p.Backfill(t.Context(), start, end, nil))
			wantGoverned(t, db, effective)
			mustAppend(t, db, lateRow("early", start), lateRow("late", end-1))
			if got := restate(t, p, "H100 SXM", start, end); got.Slots != 8 {
				t.Errorf("%d slots were restated, want 8", got.Slots)
			}
			wantGoverned(t, db, effective)
			wantWholeChains(t, db)
		})
	}
}

// Below its minimum a version publishes nothing, but covers the time.
func TestMethodology_Minimum(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testMethodologyMinimum)
}

func testMethodologyMinimum(t *testing.T, db *store.DB) {
	mustAppend(t, db, rentals(start, end)...)
	effective := instant(7, 12, 0)
	adopt(t, db, effective, `transactions = 1`, `transactions = 2`)
	p, _ := newPublisher(db, end)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	clean, got := publishedAtOnce(t), readWorld(t, db)
	var want []assay.Revision
	for _, r := range clean.series("H200", assay.Hourly) { // an hour has one at most
		if r.At < effective {
			want = append(want, r)
		}
	}
	clean.revisions["{H200 global} hourly"] = want
	wantSame(t, got, clean)
}

// A database without a methodology adopts the built-in one, once.
func TestLoadSchedule(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadSchedule)
}

func testLoadSchedule(t *testing.T, db *store.DB) {
	wantAdopted(t, db, "2.0.0", index.StandardText())
}

// One that an earlier release has created, and that has published nothing, adopts the version of that release.
func TestLoadSchedule_EarlierDatabase(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	storetest.Exec(t, db, `DELETE FROM settings WHERE name = 'first_schema'`)
	wantAdopted(t, db, "1.0.0", index.PlainText())
}

func wantAdopted(t *testing.T, db *store.DB, version, text string) {
	t.Helper()
	for range 2 {
		schedule, err := LoadSchedule(t.Context(), db)
		if err != nil || len(schedule) != 1 || schedule[0].Version != version {
			t.Errorf("the schedule is %+v (%v)", schedule, err)
		}
	}
	if files, err := db.Methodologies(t.Context()); err != nil || len(files) != 1 || files[0].Text != text {
		t.Errorf("adopted are %+v (%v), want the built-in one", files, err)
	}
}

// Of GPU prices, versions 1.0.0 and 2.0.0 say the same.
func TestStandard_SameGPUIndex(t *testing.T) {
	t.Parallel()
	standard, err := index.ParseMethodology(index.StandardText())
	if err != nil {
		t.Fatal(err)
	}
	plain := index.Plain()
	plain.Version, plain.TokenMix, plain.LikeForLike = standard.Version, standard.TokenMix, standard.LikeForLike
	plain.SettleAfter, plain.Memory = standard.SettleAfter, standard.Memory
	plain.UtilizationMaxAge = standard.UtilizationMaxAge
	if got := fmt.Sprintf("%+v", standard); got != fmt.Sprintf("%+v", plain) {
		t.Errorf("version 2.0.0 is %+v, and otherwise 1.0.0 is %+v", standard, plain)
	}
}
