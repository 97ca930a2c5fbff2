//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/report"
)

// startSection is the part of the document for the table of starts.
const startSection report.Section = "start"

// started is what was measured of a server on a database of one size.
type started struct {
	values    int
	took, cpu time.Duration // until the first right response; medians
	empty     int64         // memory of a server without values
	resident  int64         // memory at the first response
	loaded    int64         // memory after the reads
	peak      int64
	disk      int64
	publish   time.Duration // processor time of an hour
	hot, cold time.Duration // median of a read
}

// rate is how many values a second a server reads at its start.
func (s *started) rate() float64 { return float64(s.values) / s.took.Seconds() }

// bytes is the memory a value, beyond that of a server without values.
func (s *started) bytes(memory int64) float64 { return float64(memory-s.empty) / float64(s.values) }

// The goals: values a second at the start, and bytes of memory a value after the reads.
const (
	startRate  = 5_000_000
	startBytes = 40
)

// startRounds is how often a server is started.
const startRounds = 3

// measureStarts grows one database and starts servers on it at each size. It writes the table also if a goal is missed.
func measureStarts(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "assay-growth")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &database{options: o, dir: dir, measured: &measured{}}
	v, err := d.newMarket(ctx)
	if err != nil {
		return err
	}
	defer v.db.Close()
	empty, err := d.emptyMemory(ctx)
	if err != nil {
		return err
	}
	var all []*started
	for _, size := range o.sizes {
		fmt.Printf("growth: %s values\n", thousands(size))
		if err := v.grow(ctx, size); err != nil {
			return err
		}
		s, err := d.measureStart(ctx, v)
		if err != nil {
			return fmt.Errorf("%d values: %w", size, err)
		}
		s.empty = empty
		all = append(all, s)
	}
	text := startTable(all)
	fmt.Print(text)
	if o.update != "" {
		heading := report.By(time.Now(), "./tools/growth", o.args) +
			fmt.Sprintf("- %s, load average %s at the end\n\n", report.CPU(), report.Load())
		err = startSection.Update(o.update, heading+text)
	}
	if !o.short {
		err = errors.Join(err, checkStarts(all))
	}
	return err
}

// newMarket creates the database. Its first hours have no values: they make it adopt the methodology.
func (d *database) newMarket(ctx context.Context) (*values, error) {
	if err := d.run(ctx, "init", nil, "init", "--no-signing-key"); err != nil {
		return nil, err
	}
	from, to := startBegin.Add(-48*time.Hour), startBegin.Add(-47*time.Hour)
	err := d.run(ctx, "publish", nil, "publish", "--confirm",
		"--from", from.Format(time.RFC3339), "--to", to.Format(time.RFC3339))
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, "sqlite://"+d.folder())
	if err != nil {
		return nil, err
	}
	secret, _, err := keys.Create(ctx, db, assay.Full, "growth", 0)
	if err == nil {
		d.key = secret.Reveal()
		var v *values
		if v, err = newValues(ctx, db); err == nil {
			return v, nil
		}
	}
	return nil, errors.Join(err, db.Close())
}

// measureStart measures a database of one size. The published hour comes last: it is not computed from the values.
func (d *database) measureStart(ctx context.Context, v *values) (*started, error) {
	s := &started{values: v.count}
	var err error
	if s.disk, err = d.diskBytes(); err != nil {
		return nil, err
	}
	var took, cpu []time.Duration
	for round := range startRounds {
		fmt.Println("growth: start")
		one, err := d.startOnce(ctx, v, round == startRounds-1)
		if err != nil {
			return nil, err
		}
		took, cpu = append(took, one.took), append(cpu, one.cpu)
		s.resident, s.loaded, s.peak, s.hot, s.cold = one.resident, one.loaded, one.peak, one.hot, one.cold
	}
	s.took, s.cpu = medianOf(took), medianOf(cpu)
	s.publish, err = d.publishHour(ctx, v)
	return s, err
}

// emptyMemory is the memory of a server on a database without values.
func (d *database) emptyMemory(ctx context.Context) (int64, error) {
	p, base, err := d.startServer()
	if err != nil {
		return 0, err
	}
	defer p.Stop()
	err = p.Await(ctx, patience, func(ctx context.Context) error {
		status, body, err := d.get(ctx, base+"/api/gpu-types", d.key)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, process.Tail(body))
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return settledMemory(ctx, p.Pid())
}

// startServer starts a server, which is at an address once it responds.
func (d *database) startServer() (p *process.Process, base string, err error) {
	ports, err := process.SparePorts(1)
	if err != nil {
		return nil, "", err
	}
	address := process.Loopback(ports[0])
	p, err = process.Command{
		Name: "server", Dir: d.dir, DeathSignal: syscall.SIGKILL, Program: d.assay,
		Env: []string{"ASSAY_DIR=" + d.folder()},
		Args: []string{
			"serve", "--role", "read", "--addr", address, "--key-limit", "1000000", "--access-log", "off",
			"--trusted-proxies", "127.0.0.1",
		},
	}.Start()
	return p, "http://" + address, err
}

// startOnce starts a server, waits for the first right response and, if asked, reads from it.
func (d *database) startOnce(ctx context.Context, v *values, read bool) (s started, err error) {
	begun := time.Now()
	p, base, err := d.startServer()
	if err != nil {
		return s, err
	}
	defer p.Stop()
	if err := d.awaitPrice(ctx, p, base, v); err != nil {
		return s, err
	}
	s.took = time.Since(begun)
	if s.cpu, _, err = usageOf(p.Pid()); err != nil {
		return s, err
	}
	if s.resident, err = residentOf(p.Pid()); err != nil || !read {
		return s, err
	}
	if s.hot, s.cold, err = d.readRanges(ctx, base, v); err != nil {
		return s, err
	}
	if s.loaded, err = settledMemory(ctx, p.Pid()); err != nil {
		return s, err
	}
	_, s.peak, err = usageOf(p.Pid())
	return s, err
}

// startPause is how often a starting server is asked: many times within the time that the smallest database takes.
const startPause = 2 * time.Millisecond

// awaitPrice waits until the server shows the last value of a line.
func (d *database) awaitPrice(ctx context.Context, p *process.Process, base string, v *values) error {
	line := assay.Line{GPU: model(7), Region: assay.Global}
	want := fmt.Sprintf(`"index_value":%s,`, v.price[line])
	tick := time.NewTicker(startPause)
	defer tick.Stop()
	for begun := time.Now(); ; <-tick.C {
		status, body, err := d.get(ctx, base+"/api/gpu/"+url.PathEscape(line.GPU), d.key)
		if err == nil && status == http.StatusOK {
			if !bytes.Contains(body, []byte(want)) {
				return fmt.Errorf("the server shows %s, not %s", process.Tail(body), want)
			}
			return nil
		}
		if p.Ended() || ctx.Err() != nil || time.Since(begun) > patience {
			return p.Explain(fmt.Errorf("the server does not show a price: status %d, %w", status, err))
		}
	}
}

// coldDays is how many days a read of a range has that no one has asked for.
const coldDays = 30

// readRanges measures reads of all hours of one line, and of some days of any line.
func (d *database) readRanges(ctx context.Context, base string, v *values) (hot, cold time.Duration, err error) {
	path := func(line assay.Line) string {
		region := ""
		if line.Region != assay.Global {
			region = "&region=" + line.Region
		}
		return base + "/api/gpu/" + url.PathEscape(line.GPU) + "/hourly?limit=10000" + region
	}
	begin, days := startBegin.Format(time.DateOnly), int(v.end-startBegin.UnixMilli())/int(assay.Day)
	var hots, colds []time.Duration
	for range samples {
		took, err := d.timed(ctx, path(v.lines[7])+"&startDate="+begin)
		if err != nil {
			return 0, 0, err
		}
		hots = append(hots, took)
		first := startBegin.AddDate(0, 0, v.random.IntN(max(1, days-coldDays)))
		target := path(v.lines[v.random.IntN(len(v.lines))]) + "&startDate=" + first.Format(time.DateOnly) +
			"&endDate=" + first.AddDate(0, 0, coldDays).Format(time.DateOnly)
		if took, err = d.timed(ctx, target); err != nil {
			return 0, 0, err
		}
		colds = append(colds, took)
	}
	return medianOf(hots), medianOf(colds), nil
}

// timed is how long a request takes.
func (d *database) timed(ctx context.Context, target string) (time.Duration, error) {
	begun := time.Now()
	status, body, err := d.get(ctx, target, d.key)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", target, status, process.Tail(body))
	}
	return time.Since(begun), err
}

// publishHour imports and publishes the hour after the last value, with a transaction in each line, and returns the
// processor time that publishing takes. The next day begins after it.
func (d *database) publishHour(ctx context.Context, v *values) (time.Duration, error) {
	from := time.UnixMilli(v.end).UTC()
	rows := bytes.NewBufferString("id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n")
	for i, line := range v.lines {
		if line.Region != assay.Global {
			fmt.Fprintf(rows, "%d-%d,growth,%s,%s,%s,2.5,8,24,Alder,true\n",
				v.end, i, from.Add(time.Minute).Format(time.RFC3339), line.GPU, line.Region)
		}
	}
	if err := d.run(ctx, "import", rows, "import", "transactions", "-"); err != nil {
		return 0, err
	}
	err := d.run(ctx, "publish", nil, "publish", "--from", from.Format(time.RFC3339),
		"--to", from.Add(time.Hour).Format(time.RFC3339))
	if err != nil {
		return 0, err
	}
	v.end += assay.Day
	return d.costs[len(d.costs)-1].cpu, v.readHeads(ctx)
}

// settleTime is within which a server gives back what reading all values took.
const settleTime = 3 * time.Second

// settledMemory is the resident memory of a process once it has given back what it needs no more.
func settledMemory(ctx context.Context, pid int) (memory int64, err error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(settleTime):
		return residentOf(pid)
	}
}

// residentOf is the resident memory of a process.
func residentOf(pid int) (memory int64, err error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	_, err = fmt.Sscan(after, &memory)
	return memory << 10, err
}

func medianOf(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// checkStarts returns an error that names every goal that was missed.
func checkStarts(all []*started) error {
	var missed []error
	for _, s := range all {
		if s.rate() < startRate {
			missed = append(missed, fmt.Errorf("%s values: the server reads %s values a second at its start, less than %s",
				thousands(s.values), thousands(int(s.rate())), thousands(startRate)))
		}
		if got := s.bytes(s.loaded); got > startBytes {
			missed = append(missed, fmt.Errorf("%s values: the server has %.0f bytes a value, more than %d",
				thousands(s.values), got, startBytes))
		}
	}
	return errors.Join(missed...)
}

// startTable is the result in Markdown.
func startTable(all []*started) string {
	var b strings.Builder
	row := func(name string, cell func(*started) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, s := range all {
			fmt.Fprintf(&b, " %s |", cell(s))
		}
		b.WriteString("\n")
	}
	memory := func(of func(*started) int64) func(*started) string {
		return func(s *started) string { return fmt.Sprintf("%d MB, %.0f bytes a value", of(s)>>20, s.bytes(of(s))) }
	}
	megabytes := func(of func(*started) int64) func(*started) string {
		return func(s *started) string { return fmt.Sprintf("%d MB", of(s)>>20) }
	}
	row("50 models in 20 regions", func(s *started) string { return thousands(s.values) + " values" })
	b.WriteString("|---|" + strings.Repeat("--:|", len(all)) + "\n")
	seconds := func(t time.Duration) string { return fmt.Sprintf("%.2f s", t.Seconds()) }
	row("start, until the first right response", func(s *started) string { return seconds(s.took) })
	row("values a second", func(s *started) string { return thousands(int(s.rate())) })
	row("processor time of the start", func(s *started) string { return seconds(s.cpu) })
	row("memory without values", megabytes(func(s *started) int64 { return s.empty }))
	row("memory at the first response", memory(func(s *started) int64 { return s.resident }))
	row("memory after the reads", memory(func(s *started) int64 { return s.loaded }))
	row("largest memory", memory(func(s *started) int64 { return s.peak }))
	row("disk", megabytes(func(s *started) int64 { return s.disk }))
	row("publication of an hour, processor time", func(s *started) string { return milliseconds(s.publish) })
	row("read of all hours of a line, median", func(s *started) string { return milliseconds(s.hot) })
	row("read of any 30 days of any line, median", func(s *started) string { return milliseconds(s.cold) })
	return b.String()
}
