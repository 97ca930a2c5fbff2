package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Meta is what every response has besides its data.
type Meta struct {
	Success bool `json:"success"` // true: failures are errors

	RequestID string        `json:"-"` // to quote in a report
	Synthetic bool          `json:"-"` // the data is that of a demo: no figure is a market price
	Stale     time.Duration `json:"-"` // how old the data may be, if the server has lost its database; else 0
	Ignored   []string      `json:"-"` // parameters that the server does not know
}

func (m *Meta) meta() *Meta { return m }

// envelope is a response with a Meta.
type envelope interface{ meta() *Meta }

// mostBody bounds the body of a response that is read as a whole. The longest are a hundred thousand rows.
const mostBody = 64 << 20

var errTooLarge = errors.New("it is too large")

// fetched is a response that was read as a whole.
type fetched struct {
	*http.Response
	body []byte
}

// fetch reads a response as a whole, or takes it from the cache if it is still current.
func (c *Client) fetch(ctx context.Context, q call) (*fetched, error) {
	q.accept = jsonType
	url := c.address(q.target)
	known := c.cache.get(url)
	if known != nil {
		q.tag = known.tag
	}
	response, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode == http.StatusNotModified {
		return &fetched{response, known.body}, nil
	}
	if !isJSON(response.Header) {
		return nil, c.badResponse(response, "it is not JSON", nil)
	}
	body, err := readAll(response.Body, mostBody)
	if err != nil {
		return nil, c.badResponse(response, "it cannot be read", err)
	}
	if tag := response.Header.Get("ETag"); tag != "" && response.StatusCode == http.StatusOK {
		c.cache.put(&cached{url: url, tag: tag, body: body})
	}
	return &fetched{response, body}, nil
}

const jsonType = "application/json"

// readAll reads everything, if it is not more than most bytes.
func readAll(from io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(body)) > most {
		err = errTooLarge
	}
	return body, err
}

// get requests a route and decodes the response.
func get[T any](ctx context.Context, c *Client, route string, params Params, vars ...string) (*T, error) {
	t, err := newTarget(route, params, vars...)
	if err != nil {
		return nil, err
	}
	got, err := c.fetch(ctx, call{target: t})
	if err != nil {
		return nil, err
	}
	value := new(T)
	if err := c.decode(got, value); err != nil {
		return nil, err
	}
	return value, nil
}

// decode decodes a response into an envelope.
func (c *Client) decode(got *fetched, to any) error {
	d := json.NewDecoder(bytes.NewReader(got.body))
	if err := decodeEnvelope(d, to, nil); err != nil {
		return c.badResponse(got.Response, "it is not what the API promises", err)
	}
	if e, ok := to.(envelope); ok {
		e.meta().read(got.Header)
	}
	return nil
}

// read takes what the headers say.
func (m *Meta) read(h http.Header) {
	m.RequestID = h.Get("X-Request-Id")
	m.Synthetic = h.Get("X-Assay-Synthetic") == "true"
	if seconds, err := strconv.ParseUint(h.Get("X-Assay-Stale"), 10, 31); err == nil {
		m.Stale = time.Duration(seconds) * time.Second
	}
	if ignored := h.Get("X-Assay-Ignored"); ignored != "" {
		for name := range strings.SplitSeq(ignored, ",") {
			m.Ignored = append(m.Ignored, strings.TrimSpace(name))
		}
	}
}

// rowReader reads the rows of an envelope, instead of a field.
type rowReader struct {
	field string
	read  func(*json.Decoder) error // reads the value of the field
}

// decodeEnvelope decodes the object of a response, member by member. Unlike json.Unmarshal it insists on what the API
// promises: a program must not take a missing price for 0. Members that it does not know are new, and skipped.
func decodeEnvelope(d *json.Decoder, to any, rows *rowReader) error {
	fields := membersOf(to)
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(errors.New("it is not a JSON object"), err)
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // it is the name of a member
		field := fields[name]
		switch {
		case rows != nil && name == rows.field:
			err = field.once(func() error { return rows.read(d) })
		case field != nil:
			err = field.once(func() error { return field.decode(d) })
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return fmt.Errorf("%.80q: %w", name, err)
		}
	}
	return errors.Join(end(d), missing(fields))
}

// end reads the end of the object, and that nothing follows.
func end(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return noEOF(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("something follows the JSON object"), err)
	}
	return nil
}

// noEOF is an error that does not look like a proper end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// member is a field of an envelope.
type member struct {
	value    reflect.Value
	optional bool
	rows     bool // it has what was asked for
	seen     bool
}

// once reads a member that the object must not have twice.
func (m *member) once(read func() error) error {
	if m.seen {
		return errors.New("the object has it twice")
	}
	m.seen = true
	return read()
}

func (m *member) decode(d *json.Decoder) error {
	if err := d.Decode(m.value.Addr().Interface()); err != nil {
		return err
	}
	if m.rows && m.value.IsZero() {
		return errors.New("it is null")
	}
	return nil
}

// membersOf are the fields of an envelope by their names in JSON.
func membersOf(to any) map[string]*member {
	v := reflect.ValueOf(to).Elem()
	found := map[string]*member{}
	for _, field := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue // an embedded struct, or what JSON does not have
		}
		found[name] = &member{
			value:    v.FieldByIndex(field.Index),
			optional: strings.Contains(options, "omitempty") || field.Type.Kind() == reflect.Pointer,
			rows:     name == "data" || name == "sites",
		}
	}
	return found
}

// missing is the error for members that the API promises and the response lacks.
func missing(fields map[string]*member) error {
	for name, field := range fields {
		if !field.seen && !field.optional {
			return fmt.Errorf("it has no %q", name)
		}
	}
	if success := fields["success"]; success != nil && !success.value.Bool() {
		return errors.New(`its "success" is false`)
	}
	return nil
}
