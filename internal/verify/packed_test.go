package verify

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// A dishonest operator changes what servers start with, and gives it the right checksum.
func TestDatabase_DishonestPackedPoints(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	m.save("packed_points")
	f := func(what string, change func(points int64, body []byte) (int64, []byte)) {
		t.Helper()
		var version, part, points int64
		var body []byte
		err := m.raw.QueryRow(`SELECT version, part, points, body FROM packed_points WHERE points > 1
			ORDER BY version DESC, part DESC LIMIT 1`).Scan(&version, &part, &points, &body)
		if err != nil {
			t.Fatal(err)
		}
		points, body = change(points, body)
		var text []byte
		for _, n := range []int64{version, part, points} {
			text = binary.LittleEndian.AppendUint64(text, uint64(n))
		}
		sum := crc32.Checksum(append(text, body...), crc32.MakeTable(crc32.Castagnoli))
		m.exec(`UPDATE packed_points SET points = $1, checksum = $2, body = $3 WHERE version = $4 AND part = $5`,
			points, int64(sum), body, version, part)
		m.wantDifference(what, "slot publication")
		m.restore("packed_points")
	}
	f("the last value", func(points int64, body []byte) (int64, []byte) {
		body[len(body)-1] ^= 2 // the last byte belongs to the difference of the last value
		return points, body
	})
	f("a point more", func(points int64, body []byte) (int64, []byte) {
		return points + 1, append(body, 0, 0) // as the last one, a step later
	})
	f("no points", func(_ int64, body []byte) (int64, []byte) { return 0, body[:1] })
	m.wantIntact()
}
