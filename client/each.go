package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/assaydata/assay"
)

// eachPage is how many rows iterators request at a time, unless the caller sets a Limit.
const (
	eachPoint      = 10_000
	eachSite       = 1000
	eachCorrection = 1000
	eachNotice     = 100
)

// EachPoint iterates over the series of a GPU model, in the order that p asks for. It requests one part of the range
// after the other, of Limit rows each (10,000 unless given), and decodes rows as they arrive. If a restatement is
// published meanwhile, some rows are from before it and some from after it; with an AsOf they are all from then.
func (c *Client) EachPoint(ctx context.Context, gpuName string, p *HistoryParams) iter.Seq2[Point, error] {
	return c.eachPoint(ctx, indexHistory, gpuName, valueOf(p))
}

// EachHourlyPoint iterates over hourly values of a GPU model, as EachPoint does: those of the last seven days unless p
// has a StartDate.
func (c *Client) EachHourlyPoint(ctx context.Context, gpuName string, p *SeriesParams) iter.Seq2[Point, error] {
	s := valueOf(p)
	return c.eachPoint(ctx, hourlyHistory, gpuName, HistoryParams{
		StartDate: s.StartDate, EndDate: s.EndDate, Region: s.Region, Order: s.Order, Limit: s.Limit, AsOf: s.AsOf,
	})
}

// valueOf is a copy of parameters, so that an iterator can change them.
func valueOf[P any](p *P) P {
	if p == nil {
		return *new(P)
	}
	return *p
}

func (c *Client) eachPoint(ctx context.Context, route, gpuName string, p HistoryParams) iter.Seq2[Point, error] {
	if p.Limit == 0 {
		p.Limit = eachPoint
	}
	return func(yield func(Point, error) bool) {
		p, last := p, time.Time{} // each loop begins at the beginning
		for {
			part := series{descending: p.Order == "desc", last: last, yield: yield}
			err := c.eachRow(ctx, route, &p, &part, part.row, gpuName)
			if err != nil && !errors.Is(err, errStopped) {
				yield(Point{}, err)
			}
			if err != nil || !part.HasMore {
				return
			}
			// What auto means depends on the length of the range, which is now shorter.
			if p.Granularity != "" {
				p.Granularity = part.Granularity
			}
			if last = part.last; part.descending {
				p.EndDate = InstantOf(last.Add(-time.Millisecond))
			} else {
				p.StartDate = InstantOf(last.Add(time.Millisecond))
			}
		}
	}
}

// series is one part of a range.
type series struct {
	Series[json.RawMessage] // without its rows

	descending bool
	last       time.Time // of the rows so far, also of earlier parts
	yield      func(Point, error) bool
}

// errStopped ends an iteration that the caller has left.
var errStopped = errors.New("the iteration was left")

// row yields one row. Each is beyond the one before it: a server that stood still would keep the caller in the loop.
func (s *series) row(d *json.Decoder) error {
	var p Point
	if err := d.Decode(&p); err != nil {
		return noEOF(err)
	}
	if !s.last.IsZero() && (s.descending && !p.Timestamp.Before(s.last) || !s.descending && !p.Timestamp.After(s.last)) {
		return errors.New("its rows are not in order")
	}
	s.last = p.Timestamp
	if !s.yield(p, nil) {
		return errStopped
	}
	return nil
}

// eachRow requests a route, decodes the response into an envelope, and reads its rows with a function as they arrive.
func (c *Client) eachRow(
	ctx context.Context, route string, params Params, to envelope, row func(*json.Decoder) error, vars ...string,
) error {
	t, err := newTarget(route, params, vars...)
	if err != nil {
		return err
	}
	response, err := c.send(ctx, call{target: t, accept: jsonType, lasting: true})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if !isJSON(response.Header) {
		return c.badResponse(response, "it is not JSON", nil)
	}
	err = readRows(response, to, row)
	if err != nil && !errors.Is(err, errStopped) {
		return c.badResponse(response, "it is not what the API promises", err)
	}
	return err
}

// mostRow bounds one row, and what surrounds the rows.
const mostRow = 1 << 20

func readRows(response *http.Response, to envelope, row func(*json.Decoder) error) error {
	from := &rationed{from: response.Body, left: mostRow}
	rows := &rowReader{field: "data"}
	more := false
	rows.read = func(d *json.Decoder) error {
		if start, err := d.Token(); err != nil || start != json.Delim('[') {
			return errors.Join(errors.New("it is not a list"), err)
		}
		for d.More() {
			from.left, more = mostRow, true
			if err := row(d); err != nil {
				return err
			}
		}
		_, err := d.Token()
		return noEOF(err)
	}
	if err := decodeEnvelope(json.NewDecoder(from), to, rows); err != nil {
		return err
	}
	if s, ok := to.(*series); ok && s.HasMore && !more {
		return errNoProgress
	}
	to.meta().read(response.Header)
	return nil
}

// errNoProgress is the error for a server that would keep the caller asking.
var errNoProgress = errors.New("it says that there is more, and leads nowhere")

// rationed reads no more than it may between two rows.
type rationed struct {
	from io.Reader
	left int
}

func (r *rationed) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errTooLarge
	}
	n, err := r.from.Read(p)
	r.left -= n
	return n, err
}

// EachSite iterates over the sites of a region, page by page.
func (c *Client) EachSite(ctx context.Context, p *SitesParams) iter.Seq2[Site, error] {
	first := valueOf(p)
	first.Limit = cmp.Or(first.Limit, eachSite)
	return func(yield func(Site, error) bool) {
		p := first
		eachPage(yield, func() ([]Site, bool, error) {
			got, err := c.Sites(ctx, &p)
			if err != nil {
				return nil, false, err
			}
			p.Offset += len(got.Sites)
			return got.Sites, got.HasMore, nil
		})
	}
}

// EachCorrection iterates over values of GPU models that restatements have changed, from p.Since to the end of the
// list. To continue from there another time, use Corrections, which returns the cursor.
func (c *Client) EachCorrection(ctx context.Context, p *CorrectionsParams) iter.Seq2[Correction, error] {
	first := valueOf(p)
	first.Limit = cmp.Or(first.Limit, eachCorrection)
	return func(yield func(Correction, error) bool) {
		p := first
		eachPage(yield, func() ([]Correction, bool, error) {
			got, err := c.Corrections(ctx, &p)
			return nextPage(c, got, err, &p.Since)
		})
	}
}

// EachFamilyCorrection iterates over rows of a family that restatements have changed, as EachCorrection does.
func (c *Client) EachFamilyCorrection(
	ctx context.Context, family string, p *FamilyCorrectionsParams,
) iter.Seq2[FamilyCorrection, error] {
	first := valueOf(p)
	first.Limit = cmp.Or(first.Limit, eachCorrection)
	return func(yield func(FamilyCorrection, error) bool) {
		p := first
		eachPage(yield, func() ([]FamilyCorrection, bool, error) {
			got, err := c.FamilyCorrections(ctx, family, &p)
			return nextPage(c, got, err, &p.Since)
		})
	}
}

// nextPage takes the rows of a page, and moves the cursor to the next one.
func nextPage[T any](c *Client, got *Corrections[T], err error, since *string) ([]T, bool, error) {
	if err != nil {
		return nil, false, err
	}
	if got.HasMore && got.Next == *since {
		return nil, false, c.stuck()
	}
	*since = got.Next
	return got.Data, got.HasMore, nil
}

// EachNotice iterates over notices to readers, the newest first.
func (c *Client) EachNotice(ctx context.Context, p *NoticesParams) iter.Seq2[Notice, error] {
	first := valueOf(p)
	first.Limit = cmp.Or(first.Limit, eachNotice)
	return func(yield func(Notice, error) bool) {
		p := first
		eachPage(yield, func() ([]Notice, bool, error) {
			got, err := c.Notices(ctx, &p)
			if err != nil {
				return nil, false, err
			}
			if n := len(got.Data); n > 0 {
				if p.Before != 0 && got.Data[n-1].Number >= p.Before {
					return nil, false, c.stuck()
				}
				p.Before = got.Data[n-1].Number
			}
			return got.Data, got.HasMore, nil
		})
	}
}

// eachPage yields the rows of one page after the other. A page without rows is the last one.
func eachPage[T any](yield func(T, error) bool, next func() (rows []T, more bool, err error)) {
	for {
		rows, more, err := next()
		if err != nil {
			yield(*new(T), err)
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if !more || len(rows) == 0 {
			return
		}
	}
}

// stuck is the error for a server whose next page is the one before.
func (c *Client) stuck() error {
	return &assay.Error{
		Kind: assay.Internal, Code: "bad_response", Err: errNoProgress,
		Message: "the pages of " + c.base + " do not continue",
	}
}
