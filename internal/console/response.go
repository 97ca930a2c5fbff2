package console

import (
	"net/http"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// uncached responds with a value that no cache may keep.
func uncached(v any) (web.Response, error) { return web.NoStore(http.StatusOK, v) }

// data responds with one object.
func data(v any) (web.Response, error) {
	return uncached(struct {
		Success bool `json:"success"`
		Data    any  `json:"data"`
	}{true, v})
}

// done responds that it was done.
func done() (web.Response, error) {
	return uncached(struct {
		Success bool `json:"success"`
	}{true})
}

// optionalInstant is nil for 0.
func optionalInstant(ms int64) *string {
	if ms == 0 {
		return nil
	}
	return web.Optional(assay.FormatInstant(ms))
}
