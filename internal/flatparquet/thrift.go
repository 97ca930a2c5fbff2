package flatparquet

import (
	"encoding/binary"
)

// Types of the compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// maxDepth is more than the structs and lists of a Parquet file nest.
const maxDepth = 16

// skimmer walks over a structure in Thrift's compact protocol without decoding it, because the decoder allocates what a
// list claims to have. Room is the memory that the lists may still take once they are decoded.
type skimmer struct {
	data []byte
	at   int
	room int
}

// skim returns the length of the structure that data begins with. It returns errTruncated if data ends before.
func skim(data []byte, room int) (int, error) {
	s := &skimmer{data: data, room: room}
	err := s.structure(0)
	return s.at, err
}

func (s *skimmer) structure(depth int) error {
	if depth > maxDepth {
		return broken("its metadata is nested too deeply")
	}
	for {
		field, err := s.byte()
		if err != nil || field == thriftStop {
			return err
		}
		if field>>4 == 0 { // the field's number follows
			if _, err := s.uvarint(); err != nil {
				return err
			}
		}
		kind := field & 0xf
		if kind == thriftTrue || kind == thriftFalse { // the kind is the value
			continue
		}
		if err := s.value(kind, depth); err != nil {
			return err
		}
	}
}

func (s *skimmer) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return s.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := s.uvarint()
		return err
	case thriftDouble:
		return s.skip(8)
	case thriftUUID:
		return s.skip(16)
	case thriftBinary:
		n, err := s.uvarint()
		if err != nil {
			return err
		}
		return s.skip(n)
	case thriftList, thriftSet:
		return s.list(depth)
	case thriftMap:
		return broken("its metadata has a map")
	case thriftStruct:
		return s.structure(depth + 1)
	}
	return broken("its metadata has a field of the unknown type %d", kind)
}

func (s *skimmer) list(depth int) error {
	head, err := s.byte()
	if err != nil {
		return err
	}
	kind, size := head&0xf, uint64(head>>4)
	if size == 15 { // the size follows
		if size, err = s.uvarint(); err != nil {
			return err
		}
	}
	if size > uint64(s.room/memoryOf(kind, depth)) {
		return broken("its metadata is too large")
	}
	s.room -= int(size) * memoryOf(kind, depth)
	for range size {
		if err := s.value(kind, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// memoryOf is at least what an element of a list takes once it is decoded. The large ones are columns, row groups and
// columns of row groups, which are lists of the footer and of its row groups.
func memoryOf(kind byte, depth int) int {
	const element, large = 32, 1 << 10
	if kind == thriftStruct && depth <= 2 {
		return large
	}
	return element
}

func (s *skimmer) byte() (byte, error) {
	if s.at >= len(s.data) {
		return 0, errTruncated
	}
	s.at++
	return s.data[s.at-1], nil
}

func (s *skimmer) skip(n uint64) error {
	if n > uint64(len(s.data)-s.at) {
		return errTruncated
	}
	s.at += int(n)
	return nil
}

func (s *skimmer) uvarint() (uint64, error) {
	n, size := binary.Uvarint(s.data[s.at:])
	if size == 0 {
		return 0, errTruncated
	}
	if size < 0 {
		return 0, broken("a number in its metadata is too large")
	}
	s.at += size
	return n, nil
}
