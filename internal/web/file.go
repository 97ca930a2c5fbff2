package web

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/assaydata/assay"
)

// File is a file that never changes: another content has another name. It is sent as it is, whole or a range of it, so
// that a download which was interrupted can continue.
type File struct {
	Name    string
	Type    string // the media type
	Size    int64
	SHA256  [32]byte // of the content
	Content io.ReaderAt
}

// Attachment responds with a file.
func Attachment(f *File) Response { return Response{form: file, file: f, immutable: true} }

// byteRange is a part of a file, which is not empty.
type byteRange struct{ from, to int64 }

// sendFile sends a file, a range of it, or 304.
func (r *Request) sendFile(a *Response) error {
	f := a.file
	tag := `"` + hex.EncodeToString(f.SHA256[:]) + `"`
	part, partial, err := r.rangeOf(f, tag)
	known := r.http.Header["If-None-Match"] != nil && matches(r.http.Header["If-None-Match"], tag)
	if err != nil && !known {
		r.SetHeader("Content-Range", "bytes */"+strconv.FormatInt(f.Size, 10))
		return err
	}
	r.out.headers.contentType = f.Type
	r.SetHeader("Vary", r.vary(false))
	r.SetHeader("Cache-Control", r.cacheControl(a))
	r.SetHeader("ETag", tag)
	if known {
		r.out.headers.contentType = ""
		r.out.WriteHeader(http.StatusNotModified)
		return nil
	}
	r.SetHeader("Accept-Ranges", "bytes")
	r.SetHeader("Content-Disposition", "attachment; filename="+strconv.Quote(f.Name))
	r.SetHeader("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(f.SHA256[:])+":")
	status := http.StatusOK
	if partial {
		status = http.StatusPartialContent
		r.SetHeader("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.from, part.to-1, f.Size))
	}
	r.out.headers.length = int(part.to - part.from)
	r.out.WriteHeader(status)
	if r.http.Method != http.MethodHead {
		r.copyRange(f.Content, part)
	}
	return nil
}

// rangeOf is the part of a file that is requested. A header that is no range of bytes, or has several, is ignored, and
// so is one that is about another file: that is what If-Range says.
func (r *Request) rangeOf(f *File, tag string) (part byteRange, partial bool, err error) {
	whole := byteRange{0, f.Size}
	header := r.http.Header["Range"]
	if len(header) != 1 || r.http.Method != http.MethodGet {
		return whole, false, nil
	}
	if condition := r.http.Header["If-Range"]; condition != nil && (len(condition) > 1 || condition[0] != tag) {
		return whole, false, nil
	}
	part, ok := parseRange(header[0], f.Size)
	if !ok {
		return whole, false, nil
	}
	if part.from >= part.to {
		return part, false, &assay.Error{
			Kind: assay.OutOfRange, Code: "out_of_range",
			Message: fmt.Sprintf("The range %s is not in the file, which has %d bytes.", Shown(header[0]), f.Size),
		}
	}
	return part, true, nil
}

// parseRange parses a header with one range. It is empty if it lies outside of the file.
func parseRange(header string, size int64) (part byteRange, ok bool) {
	unit, text, _ := strings.Cut(header, "=")
	first, last, ok := strings.Cut(strings.TrimSpace(text), "-")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return part, false
	}
	if first == "" {
		length, ok := parsePosition(last)
		return byteRange{size - min(length, size), size}, ok
	}
	from, ok := parsePosition(first)
	if !ok || last == "" {
		return byteRange{from, size}, ok
	}
	to, ok := parsePosition(last)
	return byteRange{from, min(to, size-1) + 1}, ok && from <= to
}

// parsePosition parses digits. A number with too many of them is beyond the end of any file.
func parsePosition(digits string) (n int64, ok bool) {
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64) // at its limit if there are too many digits
	if err != nil || n > maxPosition {
		n = maxPosition
	}
	return n, true
}

const maxPosition = 1 << 62

// copyBuffers are for the bytes of files on their way.
var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// copyRange writes a part of a file. If it fails, fewer bytes are sent than were promised, so that the client notices.
func (r *Request) copyRange(content io.ReaderAt, part byteRange) {
	buffer := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buffer)
	for at := part.from; at < part.to; {
		n, err := content.ReadAt(buffer[:min(int64(len(buffer)), part.to-at)], at)
		if n == 0 {
			r.cause = err
			return
		}
		if _, err := r.out.Write(buffer[:n]); err != nil {
			return // a network failure is not ours to report
		}
		at += int64(n)
	}
}
