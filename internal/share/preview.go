package share

import (
	"errors"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/chart"
	"github.com/assaydata/assay/internal/web"
)

// What chats and social networks show beside a link to a page of the dashboard: of a GPU model that everyone may read,
// its chart, else a picture that says what this is. Both are drawn once, and again when the series changes.

// cover serves the picture of pages that have no chart of their own.
func (s *Share) cover(r *web.Request) (web.Response, error) {
	protect(r, pictureSources, "'none'")
	return s.coverPicture(r)
}

func (s *Share) coverPicture(r *web.Request) (response web.Response, err error) {
	drawn := chart.Cover{
		Title: "Assay", Text: "What a GPU-hour costs, and the proof of it.", Source: "GPUs, memory, tokens, coding and sites",
	}
	if s.API.Data().Synthetic {
		drawn.Notice = synthetic
	}
	body, err := s.pictures.Try("cover\x00"+drawn.Notice, func() (*web.Body, error) {
		pixels, err := drawn.PNG(chart.Light)
		if err != nil {
			return nil, err
		}
		return web.NewPlainBody(pixels), nil
	})
	if err != nil {
		return response, err
	}
	return web.Ready(body).As(pngType).Expires(r.Milli() + assay.Minute), nil
}

// preview serves the chart of a free GPU model. Of another one it shows no value.
func (s *Share) preview(r *web.Request) (web.Response, error) {
	protect(r, pictureSources, "'none'")
	series := assay.SharedSeries{
		Family: assay.SharedGPU, Series: r.PathValue("gpuName"), Region: assay.Global,
		Granularity: assay.Daily.String(), Range: "3m",
	}
	rows, err := s.API.Shared(r, series, assay.Caller{}, nil)
	if e, ok := errors.AsType[*assay.Error](err); ok && e.Kind == assay.Unauthorized {
		return s.coverPicture(r)
	}
	if err != nil {
		return web.Response{}, err
	}
	response, err := s.drawn(r, series, &rows, look{theme: chart.Light, extension: pngFile})
	return response.ShortLived(), err
}
