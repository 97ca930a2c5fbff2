package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// BulkFiles are files of complete months, by dataset, month and revision.
type BulkFiles struct {
	Meta

	Access     string          `json:"access"`
	Checkpoint *BulkCheckpoint `json:"checkpoint"` // of the log when the list was made; nil without one
	Count      int             `json:"count"`
	Data       []BulkFile      `json:"data"`
}

// BulkCheckpoint is the state of the log.
type BulkCheckpoint struct {
	Size int64  `json:"size"`
	Root string `json:"root"` // base64
}

// BulkFile is a file of a complete month. It never changes.
type BulkFile struct {
	Name        string    `json:"name"`
	Dataset     string    `json:"dataset"`
	Month       string    `json:"month"` // such as 2026-10
	Granularity string    `json:"granularity"`
	Revision    int       `json:"revision"`
	Current     bool      `json:"current"`  // no other revision of the month is newer
	KnownAt     time.Time `json:"known_at"` // as_of of this instant gives the same values
	From        time.Time `json:"from"`     // the first row
	To          time.Time `json:"to"`       // the last row
	Rows        int64     `json:"rows"`
	Size        int64     `json:"size"`
	SHA256      string    `json:"sha256"` // hexadecimal
	URL         string    `json:"url"`
}

// BulkParams are the parameters of Bulk.
type BulkParams struct {
	Dataset string `query:"dataset"` // all of them unless given
}

// Bulk lists the files of complete months that the key may download.
func (c *Client) Bulk(ctx context.Context, params *BulkParams) (*BulkFiles, error) {
	return get[BulkFiles](ctx, c, "/api/bulk", params)
}

// BulkFile opens a file of the list, from an offset on: a download that broke off continues there, at this server or at
// another node of it. What is read must be closed, and is the file only if its SHA-256 is that of the list.
func (c *Client) BulkFile(ctx context.Context, file *BulkFile, from int64) (io.ReadCloser, error) {
	if from < 0 || from >= file.Size {
		return nil, badArgument(fmt.Sprintf("the offset must be from 0 to %d", file.Size-1))
	}
	t, err := newTarget("/api/bulk/{dataset}/{file}", nil, file.Dataset, file.Name)
	if err != nil {
		return nil, err
	}
	response, err := c.send(ctx, call{
		target: t, accept: mediaTypes[Parquet], lasting: true, from: from, ifRange: strconv.Quote(file.SHA256),
	})
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusPartialContent {
		want := fmt.Sprintf("bytes %d-%d/%d", from, file.Size-1, file.Size)
		if response.Header.Get("Content-Range") != want {
			_ = response.Body.Close() // it is not read
			return nil, c.badResponse(response, "it is another part of the file", nil)
		}
		return response.Body, nil
	}
	if _, err := io.CopyN(io.Discard, response.Body, from); err != nil { // the whole file was sent
		_ = response.Body.Close() // it is not read further
		return nil, c.badResponse(response, "it ends before the offset", err)
	}
	return response.Body, nil
}
