package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// SQLite keeps the newest commits in its write-ahead log until it copies them into the database, and a killed process
// leaves them there. When the next one opens the database, SQLite reads the log up to the first frame that does not
// match its checksum and drops everything after it. That is right for the end of a log, which a crash may have torn.
// It is wrong for a damaged one: commits that were acknowledged would be gone without a word. So a log is checked
// before SQLite opens it.
//
// A log has a header and frames, each with a page. A frame has the salts of the header and a checksum over everything
// before it; that of a commit's last page has the size of the database. See https://sqlite.org/fileformat2.html.

// ErrWALDamaged is the error for a write-ahead log that lost commits.
var ErrWALDamaged = errors.New("the write-ahead log is damaged")

const (
	walHeader      = 32
	walFrameHeader = 24
)

// checkWAL returns an ErrWALDamaged if SQLite would drop commits of the write-ahead log of a database. A commit is
// flushed to the disk before the next one begins, so a crash tears one at most: two that follow each other after a bad
// frame show that it was good once. What an earlier crash has left further behind does not follow.
//
// Another process may write the log meanwhile, and begin it again from the start. What looks damaged is therefore read
// again, until two readings agree.
func checkWAL(database string) error {
	var last walState
	for {
		state, err := readWAL(database)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("check the write-ahead log: %w", err)
		}
		if state.lost < 2 {
			return nil
		}
		if state == last {
			return fmt.Errorf("%w: %s-wal has %d good frames, and SQLite would drop %d commits or more after them. "+
				"Restore a backup, or accept the loss: copy the folder, run sqlite3 %s 'PRAGMA wal_checkpoint(TRUNCATE)', "+
				"start, and import again what came last", ErrWALDamaged, database, state.good, state.lost, database)
		}
		last = state
	}
}

// walState is what a write-ahead log has.
type walState struct {
	salts uint64
	good  int64 // frames at its beginning that match their checksums
	lost  int   // commits after them that follow each other
}

func readWAL(database string) (state walState, err error) {
	file, err := os.Open(database + "-wal")
	if err != nil {
		return state, err
	}
	defer file.Close()
	header := make([]byte, walHeader)
	if _, err := io.ReadFull(file, header); err != nil {
		return state, endOfWAL(err)
	}
	sum := walSum{order: binary.LittleEndian}
	if header[3]&1 == 1 {
		sum.order = binary.BigEndian
	}
	sum.add(header[:24])
	good := sum.matches(header[24:])
	state.salts = binary.BigEndian.Uint64(header[16:])
	size := int(binary.BigEndian.Uint32(header[8:]))
	if !good { // the frames may be intact
		if size, err = pageSize(database); err != nil {
			return state, err
		}
	}
	frame := make([]byte, walFrameHeader+size)
	chain := 0 // commits of frames that follow each other, after the last good one
	for i := 0; ; i++ {
		if _, err := io.ReadFull(file, frame); err != nil {
			return state, endOfWAL(err)
		}
		if i == 0 && !good {
			state.salts = binary.BigEndian.Uint64(frame[8:])
		}
		sum.add(frame[:8])
		sum.add(frame[walFrameHeader:])
		follows, salted := sum.matches(frame[16:]), binary.BigEndian.Uint64(frame[8:]) == state.salts
		good = good && follows && salted
		switch {
		case good:
			state.good++
		case !follows:
			chain = 0
		case salted && binary.BigEndian.Uint32(frame[4:]) > 0:
			chain++
			state.lost = max(state.lost, chain)
		}
		sum.continueFrom(frame[16:])
	}
}

// pageSize reads the size of a database's pages from its header.
func pageSize(database string) (int, error) {
	file, err := os.Open(database)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var header [18]byte
	if _, err := io.ReadFull(file, header[:]); err != nil {
		return 4096, endOfWAL(err) // everything is in the log yet; this is SQLite's default
	}
	size := int(binary.BigEndian.Uint16(header[16:]))
	if size == 1 {
		size = 1 << 16
	}
	return size, nil
}

// endOfWAL is nil at the end of the log, where a frame may be incomplete.
func endOfWAL(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walSum is the checksum that SQLite continues from frame to frame.
type walSum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (s *walSum) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		s.s0 += s.order.Uint32(b) + s.s1
		s.s1 += s.order.Uint32(b[4:]) + s.s0
	}
}

// continueFrom continues from a checksum that is stored, whether it is right or not.
func (s *walSum) continueFrom(b []byte) {
	s.s0, s.s1 = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
}

func (s *walSum) matches(b []byte) bool {
	return binary.BigEndian.Uint32(b) == s.s0 && binary.BigEndian.Uint32(b[4:]) == s.s1
}
