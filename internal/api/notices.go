package api

import (
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// noticeRow is a notice to readers.
type noticeRow struct {
	Number      int64            `json:"number"`
	PublishedAt string           `json:"published_at"`
	Kind        assay.NoticeKind `json:"kind"`
	GPU         *string          `json:"gpu_type"` // null if it is about all
	Region      *string          `json:"region"`   // likewise
	About       *string          `json:"about"`    // an instant; null if it is about none
	Text        string           `json:"text"`
}

// notices serves what the operator and the publisher tell readers about the index, the newest first.
func notices(q query) (web.Response, error) {
	gpu, err := q.Param("gpuType")
	if err != nil {
		return web.Response{}, err
	}
	if gpu != "" {
		if _, err := q.gpu("gpuType", gpu); err != nil {
			return web.Response{}, err
		}
	}
	kind, err := q.OneOf("kind", "", noticeKinds...)
	if err != nil {
		return web.Response{}, err
	}
	before, err := q.Int("before", maxNotice, 1, maxNotice)
	if err != nil {
		return web.Response{}, err
	}
	limit, err := q.Int("limit", 100, 1, 1000)
	if err != nil {
		return web.Response{}, err
	}
	rows, more := []noticeRow{}, false
	for _, n := range slices.Backward(q.snap.Notices) {
		_, shown := q.snap.GPU(n.GPU)
		if n.Number >= int64(before) || n.GPU != "" && !shown || gpu != "" && n.GPU != gpu && n.GPU != "" ||
			kind != "" && string(n.Kind) != kind {
			continue
		}
		if more = len(rows) == limit; more {
			break
		}
		rows = append(rows, newNoticeRow(&n))
	}
	var next map[string]string
	if more {
		before := strconv.FormatInt(rows[len(rows)-1].Number, 10)
		next = map[string]string{"before": before}
		q.LinkNext([]web.Change{{Param: "before", Value: before}})
	}
	response, err := web.Object(struct {
		Success bool              `json:"success"`
		Count   int               `json:"count"`
		HasMore bool              `json:"has_more"`
		Next    map[string]string `json:"next,omitempty"`
		Data    []noticeRow       `json:"data"`
	}{true, len(rows), more, next, rows}, 0)
	return response.ShortLived(), err // a notice comes at any moment
}

// maxNotice is above the number of any notice, and exact in every program that reads JSON.
const maxNotice = 1<<53 - 1

// noticeKinds are the kinds in the order of the documentation.
var noticeKinds = []string{
	string(assay.NoValueNotice), string(assay.FallbackNotice), string(assay.HistoryNotice),
	string(assay.MethodologyNotice), string(assay.CessationNotice), string(assay.ResumptionNotice),
	string(assay.MessageNotice),
}

func newNoticeRow(n *assay.Notice) noticeRow {
	row := noticeRow{Number: n.Number, PublishedAt: assay.FormatInstant(n.At), Kind: n.Kind, Text: n.Text}
	if n.GPU != "" {
		row.GPU = &n.GPU
	}
	if n.Region != "" {
		row.Region = &n.Region
	}
	if n.About != 0 {
		about := assay.FormatInstant(n.About)
		row.About = &about
	}
	return row
}
