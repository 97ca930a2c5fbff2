package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/web"
)

// valuesConfig is which values to export, and how.
type valuesConfig struct {
	family, series, region, grain, format, out string
	from, to, asOf                             int64
}

// valuesRoute is the route of the API whose rows are the values of a family. An export has the rows that a Full key
// gets there, so values are read in one way only.
type valuesRoute struct {
	family  string
	path    string // with {series}, unless a parameter names the series
	param   string
	limit   string // of the rows of a response; empty: none
	regions bool   // it takes a region and a grain
	whole   bool   // the series may be left out: all of them
}

var valuesRoutes = []valuesRoute{
	{family: "gpu", path: "/api/gpu/{series}/index-history", regions: true},
	{family: "utilization", path: "/api/gpu/{series}/volume-metrics", limit: "10000", regions: true},
	{family: "memory", path: "/api/memory/{series}/history", limit: "10000"},
	{family: "models", path: "/api/otpi", param: "lab", whole: true},
	{family: "workload", path: "/api/workload", param: "lab", whole: true},
	{family: "coding", path: "/api/llm-coding/history", param: "product", limit: "10000"},
}

func (c *valuesConfig) register(cmd *cobra.Command) {
	families, formats := make([]string, len(valuesRoutes)), make([]string, len(table.Formats))
	for i, r := range valuesRoutes {
		families[i] = r.family
	}
	for i, f := range table.Formats {
		formats[i] = f.Name
	}
	flags := cmd.Flags()
	addChoiceFlag(cmd, &c.family, "values", "`FAMILY` whose published values to write: "+oneOf(families), families...)
	flags.StringVar(&c.series, "series", "", "`NAME` of the series of --values, such as a GPU model")
	flags.StringVar(&c.region, "region", "", "`REGION` of the series (default: global)")
	addChoiceFlag(cmd, &c.grain, "grain", "`GRAIN` of the values: daily or hourly (default: daily)", "daily", "hourly")
	addInstantFlag(flags, &c.asOf, "as-of", "`INSTANT`: write what was published by then (default: now)")
	usage := "`FORMAT` of the values: " + oneOf(formats) + " (default: as --out ends)"
	addChoiceFlag(cmd, &c.format, "format", usage, formats...)
	flags.StringVar(&c.out, "out", standardInput, "`FILE` to write the values to; - is standard output")
}

func (c *valuesConfig) route() *valuesRoute {
	return &valuesRoutes[slices.IndexFunc(valuesRoutes, func(r valuesRoute) bool { return r.family == c.family })]
}

// check refuses what the family does not have.
func (c *valuesConfig) check(bundle string) error {
	route := c.route()
	switch {
	case bundle != "":
		return usagef("--values and --bundle cannot be used together")
	case c.series == "" && !route.whole:
		return usagef("--series is required with --values %s", c.family)
	case c.region+c.grain != "" && !route.regions:
		return usagef("--region and --grain cannot be used with --values %s", c.family)
	case c.from != 0 && c.to != 0 && c.from >= c.to:
		return usagef("--from must be before --to")
	}
	if c.format == "" {
		c.format = strings.TrimPrefix(filepath.Ext(c.out), ".")
	}
	if c.table() == nil {
		return usagef("--format is required, unless the name in --out ends with .csv, .ndjson or .parquet")
	}
	return nil
}

// table is the form of the values; nil if there is no such form.
func (c *valuesConfig) table() *table.Format {
	for _, f := range table.Formats {
		if f.Name == c.format {
			return f
		}
	}
	return nil
}

// request is the address of the first rows. An export ends before --to, a range of the API with its end.
func (c *valuesConfig) request() (path string, query url.Values) {
	route := c.route()
	query = url.Values{}
	set := func(name, value string) {
		if name != "" && value != "" {
			query.Set(name, value)
		}
	}
	set(route.param, c.series)
	set("region", c.region)
	set("granularity", c.grain)
	set("limit", route.limit)
	set("order", "asc")
	set("startDate", assay.FormatInstant(max(c.from, family.NotBefore)))
	if c.to != 0 {
		set("endDate", assay.FormatInstant(c.to-1))
	}
	if c.asOf != 0 {
		set("as_of", assay.FormatInstant(c.asOf))
	}
	return strings.Replace(route.path, "{series}", url.PathEscape(c.series), 1), query
}

// export writes the values.
func (c *valuesConfig) export(ctx context.Context, db *store.DB, s *streams) error {
	server, err := newValuesServer(ctx, db)
	if err != nil {
		return err
	}
	if c.out == standardInput {
		_, err := c.write(ctx, server, s.out)
		return err
	}
	var content bytes.Buffer // so that an error leaves the file as it was
	rows, err := c.write(ctx, server, &content)
	if err == nil {
		err = files.Replace(c.out, content.Bytes())
	}
	if err == nil {
		s.say("exported: %s to %s", count(rows, "value"), c.out)
	}
	return err
}

// write writes the rows of all pages as one table, and returns their number.
func (c *valuesConfig) write(ctx context.Context, server *valuesServer, to io.Writer) (rows int, err error) {
	path, query := c.request()
	schema := server.schema(c.route().path)
	var out *table.Envelope
	for {
		page, err := server.get(ctx, path+"?"+query.Encode(), schema.Member)
		if err != nil {
			return rows, err
		}
		if out == nil {
			out = table.NewEnvelope(c.table(), schema, to)
			fmt.Fprintf(out, "{%s%q:[", page.facts(), schema.Member)
		}
		if rows > 0 && len(page.rows) > 0 {
			fmt.Fprint(out, ",")
		}
		for i, row := range page.rows {
			if i > 0 {
				fmt.Fprint(out, ",")
			}
			_, _ = out.Write(row) // an error stays with the table
		}
		rows += len(page.rows)
		if !page.more || len(page.rows) == 0 {
			break
		}
		if len(page.next) == 0 {
			return rows, errors.New("the rows have more pages, but not how to read them")
		}
		for name, value := range page.next {
			query.Set(name, fmt.Sprint(value))
		}
	}
	fmt.Fprint(out, "]}")
	return rows, out.Close()
}

// valuesServer serves the API of a database to this process.
type valuesServer struct {
	*web.Server
	routes []web.Route
}

// schema is the columns of a route. Its path has a name of its own for the series.
func (v *valuesServer) schema(path string) *table.Schema {
	for _, route := range v.routes {
		if seriesVariable.ReplaceAllString(route.Path, "{series}") == path {
			return route.Table
		}
	}
	panic("no route has the path " + path) // a mistake in valuesRoutes
}

var seriesVariable = regexp.MustCompile(`\{\w+\}`)

func newValuesServer(ctx context.Context, db *store.DB) (*valuesServer, error) {
	quiet := slog.New(slog.DiscardHandler)
	follower := &live.Follower{Store: db, Holder: &snapshot.Holder{}, Now: wallTime, Log: quiet}
	status := web.NewNodeStatus(web.StatusConfig{Role: web.NodeRead, Ping: db.Ping, Now: wallTime, Log: quiet})
	a := api.New(api.Config{
		Snapshots: follower.Holder, Status: status, Now: wallTime, Log: quiet, Hub: push.NewHub(wallTime),
		Session: func(string) (assay.Caller, bool) { return assay.Caller{}, false },
	})
	if err := follower.Load(ctx); err != nil {
		return nil, err
	}
	server, err := web.New(web.Config{
		Settings: web.Settings{KeyLimit: maxKeyLimit}, Now: wallTime, Log: quiet, Status: status, Data: a.Data,
		Key:   func(string, int64) (assay.Caller, error) { return assay.Caller{Tier: assay.Full, KeyID: "export"}, nil },
		Count: func(string, string, int, int64) {},
	}, a.Routes())
	return &valuesServer{server, a.Routes().Routes}, err
}

// valuesPage is a response.
type valuesPage struct {
	about map[string]string
	rows  []json.RawMessage
	more  bool
	next  map[string]any
}

// get requests a page, whose rows are in a member.
func (v *valuesServer) get(ctx context.Context, target, member string) (*valuesPage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.RequestURI, request.RemoteAddr = target, "127.0.0.1:1"
	request.Header.Set("Authorization", "Bearer export")
	out := &valuesResponse{header: http.Header{}}
	v.ServeHTTP(out, request)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &members); err != nil {
		return nil, fmt.Errorf("read the values: %w", err)
	}
	if out.status != http.StatusOK {
		var message string
		_ = json.Unmarshal(members["message"], &message)
		return nil, errors.New(message)
	}
	page := &valuesPage{about: map[string]string{}}
	for name, value := range members {
		switch name {
		case member:
			err = json.Unmarshal(value, &page.rows)
		case "has_more":
			err = json.Unmarshal(value, &page.more)
		case "next":
			err = json.Unmarshal(value, &page.next)
		case "success", "access", "count":
		default:
			page.about[name] = string(value)
		}
		if err != nil {
			return nil, fmt.Errorf("read the values: %w", err)
		}
	}
	return page, nil
}

// facts are what the first page says of all rows, as the beginning of an envelope.
func (p *valuesPage) facts() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.about)) {
		fmt.Fprintf(&b, "%q:%s,", name, p.about[name])
	}
	return b.String()
}

// valuesResponse collects a response.
type valuesResponse struct {
	bytes.Buffer

	header http.Header
	status int
}

// Header returns the headers.
func (r *valuesResponse) Header() http.Header { return r.header }

// WriteHeader sets the status.
func (r *valuesResponse) WriteHeader(status int) { r.status = status }
