package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// enterIDs looks all ids up, and then copies those that are new. As one writer is at work at a time, what was not found is
// not there. INSERT … ON CONFLICT looks and writes in one statement, and costs the server more than both: it writes every row
// as a guess and confirms it afterwards.
func (e *postgresEngine) enterIDs(tx *tx, ids []placedID) (known map[int64]segmentNumber, err error) {
	err = tx.conn.Raw(func(driverConn any) error {
		conn := driverConn.(*stdlib.Conn).Conn()
		if known, err = findIDs(tx.ctx, conn, ids); err != nil {
			return err
		}
		fresh := ids
		if len(known) > 0 {
			fresh = slices.DeleteFunc(slices.Clone(ids), func(id placedID) bool { _, isKnown := known[id.hash]; return isKnown })
		}
		return copyIDs(tx.ctx, conn, fresh)
	})
	return known, err
}

// indexOnly keeps the planner from reading the whole table for a part of a batch. It would think so while the table grows, as
// long as nobody has counted its rows anew.
const indexOnly = `SET LOCAL enable_seqscan = off`

// findIDs gives the segments of the ids that are there.
func findIDs(ctx context.Context, conn *pgx.Conn, ids []placedID) (map[int64]segmentNumber, error) {
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
		if _, err := pgx.ForEachRow(rows, []any{&hash, &segment}, func() error {
			known[hash] = segmentNumber(segment)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// copyIDs inserts ids that are new, in the order they have.
func copyIDs(ctx context.Context, conn *pgx.Conn, ids []placedID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(encodeIDs(ids)), `COPY transaction_ids (hash, segment) FROM STDIN (FORMAT binary)`)
	return err
}

// copySignature begins a binary COPY: the magic word, no flags, and no more of a header.
const copySignature = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// encodeIDs writes ids as PostgreSQL's binary COPY has them: each row the number of its columns, each column its size and its
// bytes, and -1 for the end. Rows of two numbers come by the million, and as such they need neither values nor text.
func encodeIDs(ids []placedID) []byte {
	const rowSize = 2 + 2*(4+8)
	b := append(make([]byte, 0, len(copySignature)+len(ids)*rowSize+2), copySignature...)
	for _, id := range ids {
		b = binary.BigEndian.AppendUint16(b, 2)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(id.hash))
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(id.segment))
	}
	return binary.BigEndian.AppendUint16(b, 0xffff)
}
