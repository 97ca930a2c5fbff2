package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// insertNewIDs looks up all ids and then copies the new ones. There is one writer at a time, so an id that was not
// found does not exist. INSERT … ON CONFLICT does both in one statement and costs the server more: it inserts every row
// speculatively and confirms it afterwards.
func (e *postgresEngine) insertNewIDs(tx *tx, ids []idEntry) (known map[int64]segmentNumber, err error) {
	err = tx.conn.Raw(func(driverConn any) error {
		conn := driverConn.(*stdlib.Conn).Conn()
		if known, err = findIDs(tx.ctx, conn, ids); err != nil {
			return err
		}
		unknown := ids
		if len(known) > 0 {
			unknown = slices.DeleteFunc(slices.Clone(ids), func(id idEntry) bool {
				_, isKnown := known[id.hash]
				return isKnown
			})
		}
		return copyIDs(tx.ctx, conn, unknown)
	})
	return known, err
}

// indexOnly keeps the planner from scanning the whole table for a part of a batch. While the table grows, its
// statistics are out of date and suggest that.
const indexOnly = `SET LOCAL enable_seqscan = off`

// findIDs returns the segments of the ids that exist.
func findIDs(ctx context.Context, conn *pgx.Conn, ids []idEntry) (map[int64]segmentNumber, error) {
	known := map[int64]segmentNumber{}
	if _, err := conn.Exec(ctx, indexOnly); err != nil {
		return nil, err
	}
	hashes := make([]int64, 0, min(len(ids), postgresRows))
	for part := range slices.Chunk(ids, postgresRows) {
		hashes = hashes[:0]
		for _, id := range part {
			hashes = append(hashes, id.hash)
		}
		rows, err := conn.Query(ctx, `SELECT hash, segment FROM transaction_ids WHERE hash = ANY($1)`, hashes)
		if err != nil {
			return nil, err
		}
		var hash, segment int64
		_, err = pgx.ForEachRow(rows, []any{&hash, &segment}, func() error {
			known[hash] = segmentNumber(segment)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

// copyIDs inserts new ids in the given order.
func copyIDs(ctx context.Context, conn *pgx.Conn, ids []idEntry) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(encodeIDs(ids)),
		`COPY transaction_ids (hash, segment) FROM STDIN (FORMAT binary)`)
	return err
}

// copySignature begins a binary COPY: the signature, no flags, and no header extension.
const copySignature = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// encodeIDs encodes ids for PostgreSQL's binary COPY: each row has the number of its columns, each column its size and
// its bytes, and -1 ends the data. There are millions of such rows; encoded here, they need no values of type any.
func encodeIDs(ids []idEntry) []byte {
	const rowSize = 2 + 2*(4+8)
	b := append(make([]byte, 0, len(copySignature)+len(ids)*rowSize+2), copySignature...)
	for _, id := range ids {
		b = binary.BigEndian.AppendUint16(b, 2)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(id.hash))
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(id.segment))
	}
	return binary.BigEndian.AppendUint16(b, 0xffff)
}
