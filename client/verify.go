package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/verifier"
)

// Verifier proves values that the server publishes, with the key of its log. It does not trust the server: what it
// returns is in the log that the key's owner has signed, about what was asked for, and the log has only grown since
// the last checkpoint that the Verifier has seen.
//
// It proves that the operator has committed to a record, for everyone and for good, not that no later revision exists:
// for that, compare with Corrections or follow the whole log with assay monitor. It is safe for concurrent use.
type Verifier struct {
	client *Client
	first  *verifier.Log // as the caller knows it

	mu     sync.Mutex
	log    *verifier.Log // first, or what its key has led to; guarded by mu
	events string        // the changes of the key that were followed; guarded by mu
	kept   string        // the last checkpoint, signed; empty before the first; guarded by mu
}

// Verifier returns a verifier for a log whose key you have from someone you trust: the operator's website, a contract,
// or a friend. The server shows it at /log/vkey, but a server cannot vouch for itself. If the operator changes the
// key, the verifier follows the signed changes; more keys are others of the same log that you accept.
func (c *Client) Verifier(key string, more ...string) (*Verifier, error) {
	log, err := verifier.NewLog(key, more...)
	if err != nil {
		return nil, badArgumentOf("the key of the log cannot be used", err)
	}
	return &Verifier{client: c, first: log, log: log}, nil
}

// Require returns a verifier that accepts a checkpoint only with the signatures of at least so many of the witnesses,
// whose keys are given. Witnesses sign one history only, so that the operator cannot show you another one than others.
func (v *Verifier) Require(signatures int, witnesses ...string) (*Verifier, error) {
	log, err := v.first.Require(signatures, witnesses...)
	if err != nil {
		return nil, badArgumentOf("the witnesses cannot be used", err)
	}
	return &Verifier{client: v.client, first: log, log: log, kept: v.Checkpoint()}, nil
}

// Checkpoint is the last checkpoint that was seen, as it is signed. Store it, and pass it to Resume in the next run:
// then the server cannot show another history either.
func (v *Verifier) Checkpoint() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.kept
}

// Resume continues from a checkpoint that Checkpoint has returned before.
func (v *Verifier) Resume(checkpoint string) error {
	if _, err := v.first.Read(checkpoint); err != nil {
		return badArgumentOf("the checkpoint cannot be used", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = checkpoint
	return nil
}

// ErrNotProven is inside the errors of a Verifier whose server could not prove what it says. Errors without it are
// trouble on the way, and say nothing about the value. With verifier.ErrNotLogged inside, the record is so new that no
// checkpoint includes it: ask again in some seconds.
var ErrNotProven = errors.New("the server has not proven the value")

// Proof is a value of a GPU model that is proven.
type Proof struct {
	Value      *assay.Nanos        // USD per GPU-hour; nil: the record says that there is none
	Record     verifier.Record     // how it was determined
	Revisions  int                 // how many revisions the server says there are; this part is not proven
	Checkpoint verifier.Checkpoint // that includes it
}

// Daily proves the daily value of a GPU model on a UTC day, in a region (empty for all regions).
func (v *Verifier) Daily(ctx context.Context, gpuName string, day Day, region string) (*Proof, error) {
	if day.Time().IsZero() {
		return nil, badArgument("the day must be like 2026-02-03")
	}
	p, err := v.record(ctx, gpuName, &DeterminationParams{Date: Moment(day), Region: region})
	if err != nil {
		return nil, err
	}
	of, _, _ := strings.Cut(p.Record.Timestamp, "T")
	return v.about(p, gpuName, region, "daily", of == string(day))
}

// Hourly proves the value of a GPU model for the hour that ends at an instant, in a region (empty for all regions).
func (v *Verifier) Hourly(ctx context.Context, gpuName string, end time.Time, region string) (*Proof, error) {
	at := InstantOf(end)
	p, err := v.record(ctx, gpuName, &DeterminationParams{Timestamp: at, Region: region})
	if err != nil {
		return nil, err
	}
	return v.about(p, gpuName, region, "hourly", p.Record.Timestamp == string(at))
}

// record requests a record and proves it.
func (v *Verifier) record(ctx context.Context, gpuName string, params *DeterminationParams) (*Proof, error) {
	p := &Proof{}
	revisions, err := v.prove(ctx, determination, params, gpuName,
		func(log *verifier.Log, body []byte) (verifier.Checkpoint, error) {
			var err error
			p.Record, p.Checkpoint, err = log.CheckRecord(body)
			return p.Checkpoint, err
		})
	if err != nil {
		return nil, err
	}
	p.Revisions = revisions
	if p.Record.Value != nil {
		p.Value = new(assay.Nanos)
		if err := p.Value.UnmarshalJSON([]byte(*p.Record.Value)); err != nil {
			return nil, v.notProven(fmt.Errorf("the value in the record: %w", err))
		}
	}
	return p, nil
}

// about checks that a proof is about what was asked for. A server could prove another value.
func (v *Verifier) about(p *Proof, gpuName, region, granularity string, atTime bool) (*Proof, error) {
	if region == "" {
		region = assay.Global
	}
	r := &p.Record
	if r.GPU != gpuName || r.Region != region || r.Granularity != granularity || !atTime {
		other := fmt.Sprintf("%s %s %s at %s", r.GPU, r.Region, r.Granularity, r.Timestamp)
		return nil, v.notProven(errors.New("it has proven another value: " + other))
	}
	return p, nil
}

// ValueProof is a value of another index than that of GPUs that is proven.
type ValueProof struct {
	Values     map[string]*assay.Nanos // by name; nil: the record says that there are none
	Record     verifier.ValueRecord
	Revisions  int // how many revisions the server says there are; this part is not proven
	Checkpoint verifier.Checkpoint
}

// Value proves the value of an index (otpi, workload, workload-daily, memory, llm-coding or utilization) and a series
// of it, such as openai, on a day.
func (v *Verifier) Value(ctx context.Context, index, series string, day Day) (*ValueProof, error) {
	p := &ValueProof{}
	params := &ValueDeterminationParams{Series: series, Date: Moment(day)}
	revisions, err := v.prove(ctx, valueDetermination, params, index,
		func(log *verifier.Log, body []byte) (verifier.Checkpoint, error) {
			var err error
			p.Record, p.Checkpoint, err = log.CheckValueRecord(body)
			return p.Checkpoint, err
		})
	if err != nil {
		return nil, err
	}
	p.Revisions = revisions
	if r := &p.Record; r.Index != index || r.Series != series || r.Date != string(day) {
		return nil, v.notProven(fmt.Errorf("it has proven another value: %s %s of %s", r.Index, r.Series, r.Date))
	}
	if err := json.Unmarshal(p.Record.Values, &p.Values); err != nil {
		return nil, v.notProven(fmt.Errorf("the values in the record: %w", err))
	}
	return p, nil
}

// prove requests a route with a record, lets a function check the response, and compares the checkpoint with the last
// one. It returns how many revisions the response says there are.
func (v *Verifier) prove(
	ctx context.Context, route string, params Params, of string,
	check func(log *verifier.Log, body []byte) (verifier.Checkpoint, error),
) (revisions int, err error) {
	t, err := newTarget(route, params, of)
	if err != nil {
		return 0, err
	}
	got, err := v.client.fetch(ctx, call{target: t})
	if err != nil {
		return 0, err
	}
	checkpoint, err := check(v.current(), got.body)
	if errors.Is(err, verifier.ErrNotSigned) {
		if err = v.follow(ctx, err); err == nil {
			checkpoint, err = check(v.current(), got.body)
		}
	}
	if err != nil {
		return 0, v.notProven(err)
	}
	var said struct {
		Revisions int                 `json:"revisions"`
		Inclusion *verifier.Inclusion `json:"inclusion"`
	}
	if err := json.Unmarshal(got.body, &said); err != nil {
		return 0, v.notProven(err)
	}
	return said.Revisions, v.advance(ctx, checkpoint, said.Inclusion.Checkpoint)
}

func (v *Verifier) current() *verifier.Log {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.log
}

// follow asks the server which key has taken the place of the known one, which must have signed that. Without an answer
// the error stays what it was.
func (v *Verifier) follow(ctx context.Context, why error) error {
	const most = 1 << 20 // thousands of changes
	response, err := v.client.send(ctx, call{target: target{path: "/log/keys"}, accept: "text/plain"})
	if e, ok := errors.AsType[*assay.Error](err); ok && e.Status == http.StatusNotFound {
		return why
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := readAll(response.Body, most)
	if err != nil {
		return v.client.badResponse(response, "it cannot be read", err)
	}
	log, err := v.first.Follow(string(text))
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !strings.HasPrefix(string(text), v.events) {
		return fmt.Errorf("%w: its keys have another history than before", verifier.ErrNotSigned)
	}
	v.log, v.events = log, string(text)
	return nil
}

// advance checks that the log has only grown between the last checkpoint and another one, and keeps the larger one. A
// copy of the server may be a moment behind.
func (v *Verifier) advance(ctx context.Context, c verifier.Checkpoint, signed string) error {
	for {
		kept := v.Checkpoint()
		if kept != "" {
			last, err := v.first.Read(kept)
			if err != nil {
				return v.notProven(err)
			}
			if err := v.consistent(ctx, last, c); err != nil {
				return err
			}
			if last.Size >= c.Size {
				return nil
			}
		}
		v.mu.Lock()
		same := v.kept == kept // otherwise another call was faster, whose checkpoint this one is compared with
		if same {
			v.kept = signed
		}
		v.mu.Unlock()
		if same {
			return nil
		}
	}
}

// consistent checks that one of two checkpoints continues the other.
func (v *Verifier) consistent(ctx context.Context, a, b verifier.Checkpoint) error {
	if a.Size > b.Size {
		a, b = b, a
	}
	var hashes []string
	if a.Size < b.Size {
		got, err := v.client.LogConsistency(ctx, a.Size, b.Size)
		if err != nil {
			return err
		}
		hashes = got.Data.Hashes
	}
	if err := verifier.CheckConsistency(a, b, hashes); err != nil {
		return v.notProven(fmt.Errorf("the operator has rewritten the log: %w", err))
	}
	return nil
}

// notProven is the error for a server that has not proven what it says. Trouble on the way is returned as it is.
func (v *Verifier) notProven(cause error) error {
	if own, ok := errors.AsType[*assay.Error](cause); ok {
		return own
	}
	return &assay.Error{
		Kind: assay.Internal, Code: "not_proven", Status: http.StatusOK,
		Message: v.client.base + " has not proven the value",
		Err:     &quiet{v.client.quiet(cause).Error(), errors.Join(ErrNotProven, cause)},
	}
}
