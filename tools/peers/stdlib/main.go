// Command stdlib serves Assay's requests for the index of a GPU model as one would write it with nothing but Go's
// standard library: the values are in memory, and every response is encoded by encoding/json and compressed by
// compress/gzip when it is requested. tools/bench compares Assay with it.
//
//	stdlib -addr 127.0.0.1:8080 -values values.json
package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to serve on")
	values := flag.String("values", "", "JSON `file` of the values to serve")
	flag.Parse()
	if err := run(*addr, *values); err != nil {
		fmt.Fprintln(os.Stderr, "stdlib:", err)
		os.Exit(1)
	}
}

func run(addr, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var v values
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	server := &http.Server{Addr: addr, Handler: v.handler(), ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// values are the values of one GPU model, oldest first.
type values struct {
	GPU    string  `json:"gpu"`
	Daily  []point `json:"daily"`
	Hourly []point `json:"hourly"`
}

type point struct {
	Timestamp time.Time `json:"timestamp"`
	Value     float64   `json:"index_value"`
}

// price and history have the fields of Assay's responses.
type price struct {
	Success bool   `json:"success"`
	Access  string `json:"access"`
	Data    struct {
		GPU         string    `json:"gpu_name"`
		Region      string    `json:"region"`
		Value       float64   `json:"index_value"`
		LastUpdated time.Time `json:"last_updated"`
	} `json:"data"`
}

type history struct {
	Success     bool    `json:"success"`
	GPU         string  `json:"gpu_type"`
	Region      string  `json:"region"`
	Access      string  `json:"access"`
	Granularity string  `json:"granularity"`
	Count       int     `json:"count"`
	HasMore     bool    `json:"has_more"`
	Data        []point `json:"data"`
}

func (v *values) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/gpu/{gpu}", v.servePrice)
	mux.HandleFunc("GET /api/gpu/{gpu}/index-history", v.serveHistory)
	return mux
}

func (v *values) servePrice(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("gpu") != v.GPU || len(v.Hourly) == 0 {
		http.NotFound(w, r)
		return
	}
	last := v.Hourly[len(v.Hourly)-1]
	p := price{Success: true, Access: "full"}
	p.Data.GPU, p.Data.Value, p.Data.LastUpdated = v.GPU, last.Value, last.Timestamp
	respond(w, r, p)
}

func (v *values) serveHistory(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("gpu") != v.GPU {
		http.NotFound(w, r)
		return
	}
	points, granularity := v.Daily, "daily"
	if r.FormValue("granularity") == "hourly" {
		points, granularity = v.Hourly, "hourly"
	}
	if day := r.FormValue("startDate"); day != "" {
		start, err := time.Parse(time.DateOnly, day)
		if err != nil {
			http.Error(w, "startDate: want a day such as 2026-02-04", http.StatusBadRequest)
			return
		}
		from, _ := slices.BinarySearchFunc(points, start, func(p point, t time.Time) int { return p.Timestamp.Compare(t) })
		points = points[from:]
	}
	respond(w, r, history{
		Success: true, GPU: v.GPU, Region: "global", Access: "full", Granularity: granularity, Count: len(points),
		Data: points,
	})
}

// writers are kept, because making one takes longer than compressing a short response.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// respond sends a value as JSON, compressed if the client takes that.
func respond(w http.ResponseWriter, r *http.Request, value any) {
	w.Header().Set("Content-Type", "application/json")
	var err error
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		err = compress(w, value)
	} else {
		err = json.NewEncoder(w).Encode(value)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
}

func compress(w io.Writer, value any) error {
	packed, _ := writers.Get().(*gzip.Writer)
	defer writers.Put(packed)
	packed.Reset(w)
	return errors.Join(json.NewEncoder(packed).Encode(value), packed.Close())
}
