package web_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// longHistory is a snapshot of one series, whose response is longer than what the kernel takes for a client that does
// not read.
func longHistory() *snapshot.Snapshot {
	u := snapshot.SeriesUpdate{Line: assay.Line{GPU: "H200", Region: assay.Global}, Grain: assay.Hourly, Version: 8}
	now := apitest.Now.UnixMilli() / assay.Hour * assay.Hour
	const hours = 600_000
	for i := range int64(hours) {
		value := assay.Nanos(2e9 + math.Abs(math.Sin(float64(i)))*1e9)
		point := assay.Point{At: now - (hours-i)*assay.Hour, Value: value}
		u.Revisions = append(u.Revisions, assay.Revision{Point: point, Version: 8})
	}
	return apitest.Snapshot().With(snapshot.Update{Version: 8, Series: []snapshot.SeriesUpdate{u}})
}

// A client that does not read its response for as long as it likes keeps no data that has been replaced, and gets every
// byte in the end.
func TestServe_SlowReaderKeepsNoData(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		r := newRig(t, func(c *apitest.Config) { c.Web.StandardHTTP = standardOnly })
		old := longHistory()
		replaced := weak.Make(old)
		r.Use(old)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		r.Must(err)
		ctx, stop := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		serving.Go(func() { _ = r.Serve(ctx, l) })
		defer serving.Wait()
		defer stop()

		client, err := net.Dial("tcp", l.Addr().String())
		r.Must(err)
		defer client.Close()
		r.Must(client.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.WriteString(client, "GET /api/gpu/H200/index-history?granularity=hourly HTTP/1.1\r\nHost: a\r\n"+
			"Accept-Encoding: gzip\r\nAuthorization: Bearer "+r.Keys["full"]+"\r\nConnection: close\r\n\r\n")
		r.Must(err)
		in := bufio.NewReader(client)
		_, err = in.Peek(1)
		r.Must(err)

		newest := old.Line("H200", assay.Global).Series(assay.Hourly)
		want := `"timestamp":"` + assay.FormatInstant(newest.At(newest.Len()-1).At) + `"`
		newest, old = nil, nil
		r.Use(apitest.Snapshot())
		for tries := 0; replaced.Value() != nil; tries++ {
			if tries == 10 {
				t.Fatal("the replaced snapshot is still there")
			}
			runtime.GC()
		}

		response, err := http.ReadResponse(in, nil)
		r.Must(err)
		unzip, err := gzip.NewReader(response.Body)
		r.Must(err)
		text, err := io.ReadAll(unzip)
		if err != nil || !strings.Contains(string(text[len(text)-200:]), want) || text[len(text)-1] != '}' {
			t.Errorf("%v, %d bytes", err, len(text))
		}
	})
}
