package flatparquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// column reads the values of a column, chunk by chunk and page by page.
type column struct {
	name     string
	kind     parquet.Kind
	length   int // of a value; 0 if it varies or is a bit
	optional bool
	memory   *memory
	file     io.ReaderAt

	// Of the current chunk:
	pages      *bufio.Reader
	end        int64 // where it ends in the file
	bytes      int64 // not read yet
	rows       int64 // not in a page yet
	codec      format.CompressionCodec
	dictionary dictionary

	// Of the current page:
	page    []byte
	left    int    // rows not returned yet
	present hybrid // for each row 1 if it has a value, if the column is optional
	values  decoder
}

// begin begins a chunk.
func (c *column) begin(from chunk, rows int64) {
	section := io.NewSectionReader(c.file, from.offset, from.size)
	if c.pages == nil {
		c.pages = bufio.NewReaderSize(section, readBuffer)
	} else {
		c.pages.Reset(section)
	}
	c.end, c.bytes, c.rows, c.codec = from.offset+from.size, from.size, rows, from.codec
	c.dictionary.count, c.dictionary.complete, c.left = 0, false, 0
}

// next returns the value of the next row, valid until the next call.
func (c *column) next() (parquet.Value, error) {
	for c.left == 0 {
		if err := c.nextPage(); err != nil {
			return parquet.Value{}, err
		}
	}
	c.left--
	if c.optional {
		level, err := c.present.next()
		if err != nil || level == 0 {
			return parquet.NullValue(), err
		}
		if level > 1 {
			return parquet.Value{}, broken("a value has the definition level %d", level)
		}
	}
	return c.values.next()
}

// nextPage reads pages up to the next one with values.
func (c *column) nextPage() error {
	c.present, c.values = hybrid{}, nil // they refer to the page before
	header, err := c.readHeader()
	if err != nil {
		return err
	}
	size := int64(header.CompressedPageSize)
	if size < 0 || header.UncompressedPageSize < 0 || size > c.bytes {
		return errTruncated
	}
	c.bytes -= size
	switch {
	case header.Type == format.DictionaryPage:
		return c.readDictionary(header)
	case header.Type == format.DataPage && header.DataPageHeader.V.NumValues != 0:
		return c.readPage(header)
	case header.Type == format.DataPageV2 && header.DataPageHeaderV2.V.NumValues != 0:
		return c.readPageV2(header)
	}
	_, err = c.pages.Discard(int(size)) // an index, which is not needed, or no rows
	return err
}

// readHeader reads the header of the next page.
func (c *column) readHeader() (*format.PageHeader, error) {
	data, n, err := []byte(nil), 0, errTruncated
	for size := 512; errors.Is(err, errTruncated); size *= 8 {
		all := int(min(int64(size), c.bytes, maxHeader))
		if all == len(data) {
			return nil, err
		}
		if data, err = c.peek(all); err == nil {
			n, err = skim(data, maxHeader)
		}
	}
	if err != nil {
		return nil, err
	}
	header := new(format.PageHeader)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data[:n], header); err != nil {
		return nil, err
	}
	c.bytes -= int64(n)
	_, err = c.pages.Discard(n)
	return header, err
}

// peek returns the next bytes of the chunk without consuming them.
func (c *column) peek(n int) ([]byte, error) {
	if n <= readBuffer {
		return c.pages.Peek(n)
	}
	data := make([]byte, n)
	_, err := c.file.ReadAt(data, c.end-c.bytes)
	return data, err
}

// readBody reads the content of a page into a buffer. Its first bytes, as many as raw says, are not compressed.
func (c *column) readBody(header *format.PageHeader, buffer *[]byte, raw int, compressed bool) error {
	m, packed, plain := c.memory, int(header.CompressedPageSize), int(header.UncompressedPageSize)
	if !compressed || c.codec == format.Uncompressed {
		if err := m.resize(buffer, packed); err != nil {
			return err
		}
		return c.read(header, *buffer)
	}
	if raw > packed || raw > plain {
		return errTruncated
	}
	if err := m.resize(&m.packed, packed); err != nil {
		return err
	}
	if err := c.read(header, m.packed); err != nil {
		return err
	}
	if err := m.resize(buffer, plain); err != nil {
		return err
	}
	copy(*buffer, m.packed[:raw])
	return m.decompress(c.codec, (*buffer)[raw:], m.packed[raw:])
}

// read reads bytes of the file and checks their sum, if there is one.
func (c *column) read(header *format.PageHeader, into []byte) error {
	if _, err := io.ReadFull(c.pages, into); err != nil {
		return errors.Join(errTruncated, err)
	}
	if header.CRC != 0 && uint32(header.CRC) != crc32.ChecksumIEEE(into) {
		return broken("the checksum of a page is wrong")
	}
	return nil
}

// readDictionary reads the dictionary of the chunk.
func (c *column) readDictionary(header *format.PageHeader) (err error) {
	d, head := &c.dictionary, &header.DictionaryPageHeader
	if !head.Valid || head.V.NumValues < 0 || d.complete || c.kind == parquet.Boolean {
		return broken("a dictionary has no header, is the second one, or one of booleans")
	}
	d.complete = true
	if err := c.readBody(header, &d.data, 0, true); err != nil {
		return err
	}
	d.count = uint32(head.V.NumValues)
	least := c.length
	if c.kind == parquet.ByteArray {
		least = 4 // the length of a text
	}
	if int64(d.count)*int64(least) > int64(len(d.data)) {
		return broken("a dictionary of %d bytes has %d values", len(d.data), d.count)
	}
	if c.kind != parquet.ByteArray {
		return nil
	}
	if err := c.memory.resize(&d.offsets, 4*int(d.count)); err != nil {
		return err
	}
	rest := d.data
	for i := range d.count {
		binary.LittleEndian.PutUint32(d.offsets[4*i:], uint32(len(d.data)-len(rest)))
		if _, rest, err = c.cutValue(rest); err != nil {
			return err
		}
	}
	return nil
}

// readPage reads a page of values in the first format: the levels are compressed with the values.
func (c *column) readPage(header *format.PageHeader) (err error) {
	head := &header.DataPageHeader
	if err := c.readBody(header, &c.page, 0, true); err != nil {
		return err
	}
	levels, data := []byte(nil), c.page
	if c.optional {
		if head.V.DefinitionLevelEncoding != format.RLE {
			return broken("definition levels have the encoding %s", head.V.DefinitionLevelEncoding)
		}
		if levels, data, err = cutRuns(data); err != nil {
			return err
		}
	}
	return c.usePage(head.V.NumValues, head.V.Encoding, levels, data)
}

// readPageV2 reads a page of values in the second format: the levels come first and are not compressed.
func (c *column) readPageV2(header *format.PageHeader) error {
	head := &header.DataPageHeaderV2
	repetition, definition := int(head.V.RepetitionLevelsByteLength), int(head.V.DefinitionLevelsByteLength)
	if repetition < 0 || definition < 0 {
		return errTruncated
	}
	compressed := !head.V.IsCompressed.Valid || head.V.IsCompressed.V
	if err := c.readBody(header, &c.page, repetition+definition, compressed); err != nil {
		return err
	}
	if repetition+definition > len(c.page) {
		return errTruncated
	}
	data := c.page[repetition:]
	return c.usePage(head.V.NumValues, head.V.Encoding, data[:definition], data[definition:])
}

// usePage begins to return the values of a page.
func (c *column) usePage(rows int32, encoding format.Encoding, levels, data []byte) (err error) {
	if rows < 0 || int64(rows) > c.rows {
		return broken("a page has %d of %d rows", rows, c.rows)
	}
	c.rows -= int64(rows)
	c.left, c.present = int(rows), hybrid{data: levels, width: 1}
	c.values, err = c.newDecoder(encoding, data, int(rows))
	return err
}
