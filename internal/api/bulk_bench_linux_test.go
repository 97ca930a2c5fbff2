package api

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/bulk"
	"github.com/assaydata/assay/internal/snapshot"
)

// A month of ten million hourly values, of 13,440 lines.
const (
	benchGPUs    = 210
	benchRegions = 63 // and the whole world
	benchHours   = 744
)

// benchMarket is a snapshot of that month.
func benchMarket() *snapshot.Snapshot {
	begins := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	var catalog assay.Catalog
	for i := range benchRegions {
		catalog.Regions = append(catalog.Regions, fmt.Sprintf("region-%02d", i))
	}
	published := assay.Publication{Version: 1, PublishedAt: begins + 40*assay.Day, Methodology: "1.0.0"}
	u := snapshot.Update{Version: 1, Covered: begins + 40*assay.Day, Publications: []assay.Publication{published}}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // G404: prices that are made up
	for i := range benchGPUs {
		gpu := assay.GPU{Name: fmt.Sprintf("GPU %03d", i)}
		catalog.GPUs = append(catalog.GPUs, gpu)
		for _, region := range append([]string{assay.Global}, catalog.Regions...) {
			revisions := make([]assay.Revision, benchHours)
			price := assay.Nanos(2_000_000_000 + len(u.Series)*100_000)
			for h := range revisions {
				price += assay.Nanos(random.IntN(201)-100) * 100_000
				revisions[h] = assay.Revision{Point: assay.Point{At: begins + int64(h)*assay.Hour, Value: price}, Version: 1}
			}
			u.Series = append(u.Series, snapshot.SeriesUpdate{
				Line: assay.Line{GPU: gpu.Name, Region: region}, Grain: assay.Hourly, Revisions: revisions, Version: 1,
				Published: published.PublishedAt,
			})
		}
	}
	return snapshot.New(catalog, 1).With(u)
}

var residentLine = regexp.MustCompile(`(?m)^Vm(RSS|HWM):\s+(\d+) kB$`)

// resident is how much memory the process has, and how much it has had at most; 0 where that is not known.
func resident() (now, most int) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for _, line := range residentLine.FindAllStringSubmatch(string(text), -1) {
		kilobytes, _ := strconv.Atoi(line[2])
		if line[1] == "RSS" {
			now = kilobytes >> 10
		} else {
			most = kilobytes >> 10
		}
	}
	return now, most
}

// processorTime is how much the process has used. On a machine that does other things, too, it says more than a clock.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkBulk writes a file of ten million rows. The target is 3 million rows a second, and less than 64 MB more of
// resident memory:
//
//	go test ./internal/api -run '^$' -bench Bulk -benchtime 3x
func BenchmarkBulk(b *testing.B) {
	snap := benchMarket()
	a := New(Config{Log: slog.New(slog.DiscardHandler)})
	month := bulk.MonthOf(time.Date(2026, 1, 9, 0, 0, 0, 0, time.UTC).UnixMilli())
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // begins the highest use again; without it, it is too high
	before, _ := resident()
	rows, size, used := 0, int64(0), processorTime()
	for b.Loop() {
		var m bulk.Meter
		w, err := a.bulk.write(snap, bulkDatasetOf("gpu-hourly"), month, snap.Covered, io.MultiWriter(io.Discard, &m))
		if err != nil {
			b.Fatal(err)
		}
		rows, size = w.rows, m.Size
	}
	used = processorTime() - used
	_, most := resident()
	b.ReportMetric(float64(rows)*float64(b.N)/used.Seconds()/1e6, "Mrows/cpu-s")
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(most-before), "MB-grown")
	b.ReportMetric(float64(size)/float64(rows), "B/row")
	b.ReportMetric(float64(rows), "rows")
}
