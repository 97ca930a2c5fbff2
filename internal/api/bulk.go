package api

import (
	"bytes"
	"io"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/bulk"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/web"
)

// The routes of bulk files: a list, and the files. What is in a file is in bulkgpu.go and bulkfamilies.go, and which
// files there are in bulklist.go.

// bulkDataset is a dataset that can be had as one file a month.
type bulkDataset struct {
	name    string
	grain   assay.Grain
	columns *table.Schema
	source  bulkSource
}

const numBulkDatasets = 8

// bulkDatasets are all of them, in the order of the list.
var bulkDatasets = [numBulkDatasets]*bulkDataset{
	{"gpu-daily", assay.Daily, bulkGPUColumns, &bulkGPU{assay.Daily}},
	{"gpu-hourly", assay.Hourly, bulkGPUColumns, &bulkGPU{assay.Hourly}},
	{"gpu-utilization", assay.Daily, bulkUtilizationColumns, bulkUtilization},
	{"memory-daily", assay.Daily, bulkMemoryColumns, bulkMemory},
	{"otpi", assay.Daily, bulkTokenColumns, bulkPrices},
	{"workload", assay.Daily, bulkWorkloadColumns, bulkCosts},
	{"workload-daily", assay.Daily, bulkWorkloadColumns, bulkDailyCosts},
	{"coding", assay.Daily, bulkCodingColumns, bulkCoding},
}

var bulkDatasetNames = func() (names []string) {
	for _, d := range bulkDatasets {
		names = append(names, d.name)
	}
	return names
}()

func bulkDatasetOf(name string) *bulkDataset {
	i := slices.Index(bulkDatasetNames, name)
	if i < 0 {
		return nil
	}
	return bulkDatasets[i]
}

// admitted refuses a caller whose access does not include the dataset, as the routes with the same rows do.
func (d *bulkDataset) admitted(caller assay.Caller) error {
	rule := access.Keyed
	if d.grain == assay.Hourly {
		rule = access.FullGrain
	}
	return access.Admit(rule, caller)
}

// listBulk lists the files that the caller may download.
func listBulk(q query) (web.Response, error) {
	name, err := q.OneOf("dataset", "", bulkDatasetNames...)
	if err != nil {
		return web.Response{}, err
	}
	grant, err := q.decide(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	datasets := slices.Clone(bulkDatasets[:])
	if name != "" {
		datasets = []*bulkDataset{bulkDatasetOf(name)}
		if err := datasets[0].admitted(q.Caller()); err != nil {
			return web.Response{}, err
		}
	}
	datasets = slices.DeleteFunc(datasets, func(d *bulkDataset) bool { return d.admitted(q.Caller()) != nil })
	files, err := q.api.bulk.list(q.Context(), q.snap, q.Milli(), datasets)
	if err != nil {
		return web.Response{}, err
	}
	var rows []byte
	for _, r := range files {
		rows = appendBulkRow(append(rows, ','), r)
	}
	head := appendStringField(make([]byte, 0, 256), `{"success":true,"access":`, string(grant.Access))
	head = appendCheckpoint(append(head, `,"checkpoint":`...), q.snap.Checkpoint)
	head = append(appendIntField(head, `,"count":`, len(files)), `,"data":[`...)
	version := web.NewVersion(0, []byte("bulk"), head, rows)
	return web.Piece(version, head, bytes.TrimPrefix(rows, []byte(","))).ShortLived(), nil
}

func appendBulkRow(dst []byte, r *bulk.Revision) []byte {
	dst = appendStringField(dst, `{"name":`, r.Name())
	dst = appendStringField(dst, `,"dataset":`, r.Dataset)
	dst = appendStringField(dst, `,"month":`, r.Month.String())
	dst = appendStringField(dst, `,"granularity":`, r.Grain.String())
	dst = appendIntField(dst, `,"revision":`, r.Number)
	dst = appendBoolField(dst, `,"current":`, r.Current)
	dst = appendInstantField(dst, `,"known_at":`, r.KnownAt)
	dst = appendInstantField(dst, `,"from":`, r.From)
	dst = appendInstantField(dst, `,"to":`, r.To)
	dst = appendIntField(dst, `,"rows":`, r.Rows)
	dst = appendIntField(dst, `,"size":`, int(r.Size))
	dst = appendStringField(dst, `,"sha256":`, r.SHA256())
	return append(appendStringField(dst, `,"url":`, r.Path()), '}')
}

// appendCheckpoint appends the size and the root of the log as a checkpoint signs them. It is a signed note, whose
// first lines are the name of the log, its size and its root.
func appendCheckpoint(dst []byte, checkpoint string) []byte {
	lines := bytes.SplitN([]byte(checkpoint), []byte("\n"), 4)
	if len(lines) < 4 {
		return append(dst, "null"...)
	}
	dst = append(append(dst, `{"size":`...), lines[1]...)
	return append(appendStringField(dst, `,"root":`, string(lines[2])), '}')
}

// bulkFile serves a file.
func bulkFile(q query) (web.Response, error) {
	dataset := bulkDatasetOf(q.PathValue("dataset"))
	if dataset == nil {
		return web.Response{}, noBulkFile("dataset", q.PathValue("dataset"))
	}
	if err := dataset.admitted(q.Caller()); err != nil {
		return web.Response{}, err
	}
	r, err := q.api.bulk.find(q.Context(), q.snap, q.Milli(), dataset, q.PathValue("file"))
	if err != nil {
		return web.Response{}, err
	}
	if r == nil {
		return web.Response{}, noBulkFile("file", q.PathValue("file"))
	}
	content, err := q.openBulk(r)
	if err != nil {
		return web.Response{}, err
	}
	return web.Attachment(&web.File{
		Name: r.Name(), Type: table.Parquet.MediaType(), Size: r.Size, SHA256: r.Hash, Content: content,
	}), nil
}

func noBulkFile(what, name string) error {
	return &assay.Error{
		Kind: assay.NotFound, Code: "unknown_file",
		Message: "There is no bulk " + what + " named " + web.Shown(name) + ". /api/bulk lists what there is.",
	}
}

// bulkRowsPerRequest is how many rows that have to be written for a request are worth one more request.
const bulkRowsPerRequest = 200_000

// openBulk returns the content of a file. If it has to be made, it waits for its turn like a model of the past.
func (q *query) openBulk(r *bulk.Revision) (content io.ReaderAt, err error) {
	files := q.api.bulk
	if files.shelf.Has(r) {
		return files.open(q.snap, r)
	}
	if more := min(r.Rows/bulkRowsPerRequest, maxPastCost-1); more > 0 {
		if err := q.CountMore(more); err != nil {
			return nil, err
		}
	}
	_, busy := q.api.past.build(func() pastModel {
		content, err = files.open(q.snap, r)
		return pastModel{}
	})
	if busy != nil {
		return nil, busy
	}
	return content, err
}
