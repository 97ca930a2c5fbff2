package client

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/url"
)

// Format is the form of a table.
type Format string

// The formats of tables.
const (
	CSV     Format = "csv"
	NDJSON  Format = "ndjson"
	Parquet Format = "parquet"
)

// mediaTypes are what the server calls the formats.
var mediaTypes = map[Format]string{
	CSV: "text/csv", NDJSON: "application/x-ndjson", Parquet: "application/vnd.apache.parquet",
}

// Table downloads the rows of a route as a table, and writes them to w as they arrive. The route is written as the API
// documents it, such as /api/gpu/{gpuName}/index-history, and vars are the values of its variables:
//
//	c.Table(ctx, file, client.Parquet, "/api/gpu/{gpuName}/index-history", nil, "H100 SXM")
//
// If it fails after it has begun, w has a part of the table.
func (c *Client) Table(
	ctx context.Context, w io.Writer, format Format, route string, params Params, vars ...string,
) error {
	want, ok := mediaTypes[format]
	if !ok {
		return badArgument("the format of a table is csv, ndjson or parquet")
	}
	t, err := newTarget(route, params, vars...)
	if err != nil {
		return err
	}
	t.query = join(t.query, url.Values{"format": {string(format)}}.Encode())
	response, err := c.send(ctx, call{target: t, accept: want, lasting: true})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if got, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || got != want {
		return c.badResponse(response, "it is not "+want+": the route may have no tables", nil)
	}
	out := &remembering{to: w}
	if _, err := io.Copy(out, response.Body); err != nil {
		if out.failed != nil {
			return badArgumentOf("the table cannot be written", out.failed)
		}
		return c.badResponse(response, "it cannot be read", err)
	}
	return nil
}

func join(query, more string) string {
	if query == "" {
		return more
	}
	return query + "&" + more
}

// remembering is a writer that remembers whether it has failed: reading may fail, too.
type remembering struct {
	to     io.Writer
	failed error
}

func (r *remembering) Write(p []byte) (n int, err error) {
	n, r.failed = r.to.Write(p)
	if r.failed == nil && n < len(p) {
		r.failed = errors.New("the writer has not taken everything")
	}
	return n, r.failed
}
