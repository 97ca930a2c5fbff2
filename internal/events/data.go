package events

import (
	"net/url"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/utilization"
)

// object appends the members of a JSON object.
type object []byte

func newObject(family string) object {
	return assay.AppendString(append(make(object, 0, 256), `{"family":`...), family)
}

func (o *object) name(name string) {
	*o = append(append(append(*o, `,"`...), name...), `":`...)
}

func (o *object) text(name, value string) {
	o.name(name)
	*o = assay.AppendString(*o, value)
}

// optional is text, or null for an empty one.
func (o *object) optional(name, value string) {
	if value == "" {
		o.name(name)
		*o = append(*o, "null"...)
		return
	}
	o.text(name, value)
}

func (o *object) instant(name string, at int64) {
	o.name(name)
	*o = append(assay.AppendInstant(append(*o, '"'), at), '"')
}

func (o *object) day(name string, at int64) {
	o.name(name)
	*o = append(assay.AppendDay(append(*o, '"'), at), '"')
}

func (o *object) number(name string, n int64) {
	o.name(name)
	*o = strconv.AppendInt(*o, n, 10)
}

func (o *object) price(name string, value assay.Nanos, has bool) {
	o.name(name)
	if !has {
		*o = append(*o, "null"...)
		return
	}
	*o = value.AppendJSON(*o)
}

func (o *object) line(l assay.Line) {
	o.text("gpu_type", l.GPU)
	o.text("region", l.Region)
}

func (o *object) end() []byte { return append(*o, '}') }

// valueData is a published value, or a current price. The names are those of the routes.
func valueData(l assay.Line, grain assay.Grain, p assay.Point, published assay.Publication) []byte {
	o := newObject(FamilyGPU)
	o.line(l)
	if grain == assay.Daily {
		o.day("date", p.At)
	}
	o.instant("timestamp", p.At)
	o.price("index_value", p.Value, true)
	o.number("version", published.Version)
	o.instant("published_at", published.PublishedAt)
	return o.end()
}

func correctionData(c *snapshot.Correction) []byte {
	o := newObject(FamilyGPU)
	o.line(c.Line)
	o.text("granularity", c.Grain.String())
	o.instant("timestamp", c.Revision.At)
	o.number("revision", int64(c.Revision.Number))
	o.price("index_value", c.Revision.Value, !c.Revision.Gone)
	o.price("previous_value", c.Previous, c.HadValue)
	o.instant("corrected_at", c.CorrectedAt)
	o.text("reason", c.Reason)
	o.number("version", c.Revision.Version)
	return o.end()
}

func printData(p *snapshot.LinePrint) []byte {
	o := newObject(FamilyGPU)
	o.line(p.Line)
	o.instant("timestamp", p.At)
	o.price("index_value", p.Value, true)
	o.number("transactions", int64(p.Transactions))
	o.name("gpu_hours")
	o = assay.AppendMicros(o, p.HourMicros)
	return o.end()
}

func restatementData(r *assay.Restatement) []byte {
	o := newObject(r.Family.String())
	o.number("restatement", r.Number)
	o.instant("from", r.From)
	o.instant("to", r.To)
	o.instant("corrected_at", r.At)
	o.text("reason", r.Reason)
	o.text("route", "/api/corrections/"+r.Family.String())
	return o.end()
}

func noticeData(n *assay.Notice) []byte {
	o := newObject(FamilyGPU)
	o.number("number", n.Number)
	o.instant("published_at", n.At)
	o.text("kind", string(n.Kind))
	o.optional("gpu_type", n.GPU)
	o.optional("region", n.Region)
	about := ""
	if n.About != 0 {
		about = assay.FormatInstant(n.About)
	}
	o.optional("about", about)
	o.text("text", n.Text)
	return o.end()
}

// routes are those that serve the values of a series.
var routes = map[assay.Family]func(series string) string{
	assay.FamilyMemory: func(id string) string { return "/api/memory-index?type=" + url.QueryEscape(id) },
	assay.FamilyModels: func(lab string) string { return "/api/otpi?lab=" + url.QueryEscape(lab) },
	assay.FamilyCoding: func(string) string { return "/api/llm-coding/index" },
	assay.FamilySites:  func(string) string { return "/api/neocloud/sites" },
}

func observationData(r *received) []byte {
	o := newObject(r.family.String())
	o.optional("series", r.series)
	o.instant("from", r.from)
	o.instant("to", r.to)
	o.number("rows", int64(r.rows))
	o.instant("received_at", r.at)
	o.text("route", routes[r.family](r.series))
	return o.end()
}

func readingsData(a *utilization.Arrival) []byte {
	o := newObject(assay.FamilyUtilization.String())
	o.line(a.Line)
	o.instant("from", a.From)
	o.instant("to", a.To)
	o.instant("received_at", a.Received)
	o.text("route", "/api/gpu/"+url.PathEscape(a.GPU)+"/volume-metrics?region="+url.QueryEscape(a.Region))
	return o.end()
}
