package flatparquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// forged is a file of one row group with one column of texts, put together by hand. Its zero value has no pages.
type forged struct {
	rows     int64
	codec    format.CompressionCodec
	optional bool
	pages    bytes.Buffer
	change   func(*format.FileMetaData)
}

// page adds a page. The sizes in the header are those of the body unless they are set.
func (f *forged) page(t *testing.T, header format.PageHeader, body []byte) {
	t.Helper()
	if header.CompressedPageSize == 0 {
		header.CompressedPageSize = int32(len(body))
	}
	if header.UncompressedPageSize == 0 {
		header.UncompressedPageSize = int32(len(body))
	}
	f.pages.Write(marshal(t, &header))
	f.pages.Write(body)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// file returns the whole file.
func (f *forged) file(t *testing.T) []byte {
	t.Helper()
	byteArray, repetition := format.ByteArray, format.Required
	if f.optional {
		repetition = format.Optional
	}
	meta := format.FileMetaData{
		Version: 1, NumRows: f.rows,
		Schema: []format.SchemaElement{
			{Name: "rows", NumChildren: thrift.New[int32](1)},
			{Name: "x", Type: thrift.New(byteArray), RepetitionType: thrift.New(repetition)},
		},
		RowGroups: []format.RowGroup{{NumRows: f.rows, Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
			Type: format.ByteArray, PathInSchema: []string{"x"}, Codec: f.codec, NumValues: f.rows, DataPageOffset: 4,
			TotalCompressedSize: int64(f.pages.Len()),
		}}}}},
	}
	if f.change != nil {
		f.change(&meta)
	}
	return footed(append([]byte("PAR1"), f.pages.Bytes()...), marshal(t, &meta))
}

// footed returns a file with a footer.
func footed(file, footer []byte) []byte {
	file = append(file, footer...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(footer)))
	return append(file, "PAR1"...)
}

// dataPage is the header of a page of values.
func dataPage(values int32, encoding format.Encoding) format.PageHeader {
	return format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: values, Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})}
}

// dictionaryPage is the header of a dictionary.
func dictionaryPage(values int32) format.PageHeader {
	return format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: values, Encoding: format.Plain,
	})}
}

// Files that claim more than they have are refused before memory is allocated for it. The test is not parallel, because
// it measures the memory of the process.
func TestHostile_ClaimsAreChecked(t *testing.T) {
	const most = 64 << 20
	f := func(name, want string, make func(*testing.T, *forged) []byte) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			file := make(t, &forged{rows: 3})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := drain(file)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > most {
				t.Errorf("a file of %d bytes takes %d MB", len(file), used>>20)
			}
		})
	}
	one := func(header format.PageHeader, body ...byte) func(*testing.T, *forged) []byte {
		return func(t *testing.T, x *forged) []byte { x.page(t, header, body); return x.file(t) }
	}
	sized := func(header format.PageHeader, compressed, uncompressed int32) format.PageHeader {
		header.CompressedPageSize, header.UncompressedPageSize = compressed, uncompressed
		return header
	}
	f("page larger than the file", "ends too early", one(sized(dataPage(3, format.Plain), math.MaxInt32, math.MaxInt32)))
	f("negative size", "ends too early", one(sized(dataPage(3, format.Plain), -1, -1)))
	f("page larger than the limit", "write the file with smaller pages", func(t *testing.T, x *forged) []byte {
		x.page(t, dataPage(3, format.Plain), make([]byte, maxPages+1))
		return x.file(t)
	})
	for _, codec := range []format.CompressionCodec{
		format.Snappy, format.Gzip, format.Zstd, format.Lz4Raw, format.Brotli,
	} {
		f("claims to be large with "+codec.String(), "write the file with smaller pages", func(t *testing.T, x *forged) []byte {
			x.codec = codec
			x.page(t, sized(dataPage(3, format.Plain), 4, math.MaxInt32), []byte{1, 2, 3, 4})
			return x.file(t)
		})
		f("not compressed with "+codec.String(), "with "+codec.String(), func(t *testing.T, x *forged) []byte {
			x.codec = codec
			x.page(t, sized(dataPage(3, format.Plain), 4, 1<<20), []byte{1, 2, 3, 4})
			return x.file(t)
		})
	}
	f("unknown compression", "compressed with LZO: allowed are SNAPPY", func(t *testing.T, x *forged) []byte {
		x.codec = format.LZO
		x.page(t, dataPage(3, format.Plain), []byte{1, 2, 3, 4})
		return x.file(t)
	})
	f("decompresses to more", "decompress a page with ZSTD", func(t *testing.T, x *forged) []byte {
		x.codec = format.Zstd
		x.page(t, sized(dataPage(3, format.Plain), 0, 1000), zstdOf(t, make([]byte, 100<<20)))
		return x.file(t)
	})
	f("too many values", "a page has 2147483647 of 3 rows", one(dataPage(math.MaxInt32, format.Plain), 0, 0, 0, 0))
	f("too few values", "ends too early", one(dataPage(3, format.Plain), 0, 0, 0, 0))
	f("long text", "ends too early", one(dataPage(3, format.Plain), 0xff, 0xff, 0xff, 0x7f))
	f("large dictionary", "a dictionary of 4 bytes has 2147483647 values", one(dictionaryPage(math.MaxInt32), 0, 0, 0, 0))
	f("negative dictionary", "a dictionary has no header", one(dictionaryPage(-1), 0, 0, 0, 0))
	f("second dictionary", "is the second one", func(t *testing.T, x *forged) []byte {
		x.page(t, dictionaryPage(0), nil)
		x.page(t, dictionaryPage(1), []byte{0, 0, 0, 0})
		return x.file(t)
	})
	f("long fixed values", "ends too early", func(t *testing.T, x *forged) []byte {
		x.page(t, dataPage(3, format.ByteStreamSplit), []byte{1, 2, 3})
		x.change = func(m *format.FileMetaData) {
			m.Schema[1].Type, m.Schema[1].TypeLength = thrift.New(format.FixedLenByteArray), thrift.New[int32](math.MaxInt32)
		}
		return x.file(t)
	})
	f("pages without rows", "ends too early", func(t *testing.T, x *forged) []byte {
		x.codec = format.Zstd // not decompressed
		for range 1000 {
			x.page(t, sized(dataPage(0, format.Plain), 4, 10<<20), []byte{1, 2, 3, 4})
		}
		return x.file(t)
	})
	f("no dictionary", "it refers to value 0 of a dictionary of 0", one(dataPage(3, format.RLEDictionary), 1, 6, 0))
	f("wide references", "has 33 bits", one(dataPage(3, format.RLEDictionary), 33, 6, 0))
	f("delta of many values", "a page of 3 values has 2147483647",
		one(dataPage(3, format.DeltaLengthByteArray), 128, 1, 4, 0xff, 0xff, 0xff, 0xff, 7, 0))
	f("delta in large blocks", "it has blocks of", one(dataPage(3, format.DeltaByteArray), 0x80, 0x80, 0x80, 0x80, 8, 1, 3, 0))
	f("delta of wide numbers", "a number has 65 bits", one(dataPage(3, format.DeltaLengthByteArray), 128, 1, 1, 3, 0, 0, 65))
	f("wrong encoding", "cannot have the encoding", one(dataPage(3, format.DeltaBinaryPacked), 0))
	f("texts that grow", "a text begins with", func(t *testing.T, x *forged) []byte {
		x.rows = 5000
		x.page(t, dataPage(5000, format.DeltaByteArray), growingTexts(5000, 1000))
		return x.file(t)
	})
	f("more rows than pages", "ends too early", func(t *testing.T, x *forged) []byte {
		x.rows = math.MaxInt64
		x.page(t, dataPage(1, format.Plain), []byte{0, 0, 0, 0})
		return x.file(t)
	})
	f("fewer values than rows", "does not have a value for each", func(t *testing.T, x *forged) []byte {
		x.change = func(m *format.FileMetaData) { m.RowGroups[0].NumRows = 9 }
		return x.file(t)
	})
	f("column without data", "does not have enough columns", func(t *testing.T, x *forged) []byte {
		x.change = func(m *format.FileMetaData) { m.RowGroups[0].Columns = nil }
		return x.file(t)
	})
	f("chunk outside of the file", "is not inside the file", func(t *testing.T, x *forged) []byte {
		x.change = func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[0].MetaData.DataPageOffset = math.MaxInt64
			m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = math.MaxInt64
		}
		return x.file(t)
	})

	metadata := func(footer ...byte) func(*testing.T, *forged) []byte {
		return func(*testing.T, *forged) []byte { return footed([]byte("PAR1"), footer) }
	}
	f("list of two billion row groups", "its metadata is too large", metadata(0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 7))
	f("list of two billion names", "its metadata is too large", metadata(0x49, 0xf8, 0xff, 0xff, 0xff, 0xff, 7))
	f("many empty row groups", "its metadata is too large",
		metadata(append([]byte{0x49, 0xfc, 0x80, 0x80, 0x80, 1}, make([]byte, 2<<20)...)...))
	f("deep metadata", "nested too deeply", metadata(bytes.Repeat([]byte{0x1c}, 1<<20)...))
	f("lists of lists", "too", metadata(append([]byte{0x19}, bytes.Repeat([]byte{0x19}, 1<<20)...)...))
	f("large footer", "its footer has 5242880 bytes: allowed are 4194304", metadata(make([]byte, 5<<20)...))
	f("footer larger than the file", "its footer has", func(*testing.T, *forged) []byte {
		return append([]byte("PAR1\xff\xff\xff\x7f"), "PAR1"...)
	})
	f("no footer", "it has only 4 bytes", func(*testing.T, *forged) []byte { return []byte("PAR1") })
	f("encrypted", "encrypted", func(*testing.T, *forged) []byte { return []byte("PARE\x00\x00\x00\x00PARE") })
	f("page header without end", "ends too early", func(t *testing.T, x *forged) []byte {
		x.pages.Write(bytes.Repeat([]byte{0x15, 0x02}, 2*maxHeader))
		return x.file(t)
	})
}

// drain reads all rows of a file.
func drain(file []byte) error {
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	r, err := f.Reader(f.Columns())
	for err == nil {
		_, err = r.Next()
	}
	return err
}

// zstdOf compresses a content.
func zstdOf(t *testing.T, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(content, nil)
}

// growingTexts encodes texts, each of which is the one before and some more bytes. Together they take the square of
// what they take in the file.
func growingTexts(count, more int) []byte {
	lengths := func(first, step int) (b []byte) {
		b = binary.AppendUvarint(b, 128)
		b = binary.AppendUvarint(b, 4)
		b = binary.AppendUvarint(b, uint64(count))
		b = binary.AppendVarint(b, int64(first))
		for i := 1; i < count; i += 128 {
			b = append(binary.AppendVarint(b, int64(step)), 0, 0, 0, 0)
		}
		return b
	}
	return append(append(lengths(0, more), lengths(more, 0)...), bytes.Repeat([]byte("x"), count*more)...)
}
