package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// The stored transactions are in the two years before marketEnd; the measured hours are after it.
var (
	marketBegin = time.Date(2024, 11, 1, 0, 0, 0, 0, time.UTC)
	marketEnd   = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
)

// csvHeader names the columns in the order of appendRow.
const csvHeader = "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"

const (
	marketSource    = "bench"
	marketProviders = 40
	unverifiedOneIn = 50
)

// GPU models and regions of the program's catalog. It rejects an unknown name, and a rejected row fails the run.
var (
	marketGPUs = []struct {
		name  string
		level int // ten-thousandths of a dollar a GPU-hour
	}{
		{"H100 SXM", 21000},
		{"H200", 29000},
		{"A100 SXM4", 11000},
		{"RTX 5090", 5500},
		{"B200", 41000},
		{"RTX PRO 6000 WS", 13000},
	}
	marketRegions = []string{"us-east", "us-west", "eu-west", "eu-north", "ap-east"}
)

// market generates transactions. They depend on the seed and on the calls before.
type market struct {
	random *rand.Rand
	row    []byte
}

func newMarket(seed uint64) *market {
	return &market{random: rand.New(rand.NewPCG(seed, 0))}
}

// period is a time span with the number of transactions that are spread evenly over it.
type period struct {
	from, to time.Time
	rows     int
}

// at is a moment in the i-th of the period's equal parts, so moments increase with i.
func (s period) at(i int, within float64) time.Time {
	part := float64(s.to.Sub(s.from)) / float64(s.rows)
	return s.from.Add(time.Duration((float64(i) + within) * part)).Truncate(time.Millisecond)
}

// reach is the end of the time that the rows before the i-th cover.
func (s period) reach(i int) time.Time {
	if i == s.rows {
		return s.to // not a rounding error before it
	}
	return s.at(i, 0)
}

// writeFile writes the rows [first, last) of the period as a CSV file.
func (m *market) writeFile(ctx context.Context, path string, s period, first, last int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(m.write(ctx, f, s, first, last), f.Close())
}

func (m *market) write(ctx context.Context, w io.Writer, s period, first, last int) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	buffered.WriteString(csvHeader) // an error stays until the flush
	for i := first; i < last && ctx.Err() == nil; i++ {
		m.row = m.appendRow(m.row[:0], s.at(i, m.random.Float64()))
		if _, err := buffered.Write(m.row); err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err(), buffered.Flush())
}

func (m *market) appendRow(b []byte, at time.Time) []byte {
	gpu := marketGPUs[m.random.IntN(len(marketGPUs))]
	b = m.appendID(b)
	b = append(b, ","+marketSource+","...)
	b = at.AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, ","+gpu.name+","...)
	b = append(b, marketRegions[m.random.IntN(len(marketRegions))]...)
	b = append(b, ',')
	b = appendPrice(b, gpu.level*(800+m.random.IntN(400))/1000) // a fifth around the level
	b = append(b, ',')
	b = strconv.AppendInt(b, 1<<m.random.IntN(7), 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(1+m.random.IntN(168)), 10)
	b = append(b, ",provider-"...)
	b = strconv.AppendInt(b, int64(1+m.random.IntN(marketProviders)), 10)
	b = append(b, ',')
	b = strconv.AppendBool(b, m.random.IntN(unverifiedOneIn) != 0)
	return append(b, '\n')
}

// appendID writes a random UUID: ordered ids would be the easiest case for an index.
func (m *market) appendID(b []byte) []byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], m.random.Uint64())
	binary.BigEndian.PutUint64(id[8:], m.random.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4
	begin := 0
	for _, end := range []int{4, 6, 8, 10} {
		b = append(hex.AppendEncode(b, id[begin:end]), '-')
		begin = end
	}
	return hex.AppendEncode(b, id[begin:])
}

// appendPrice writes ten-thousandths of a dollar as dollars.
func appendPrice(b []byte, tenThousandths int) []byte {
	b = strconv.AppendInt(b, int64(tenThousandths/10000), 10)
	b = append(b, '.')
	rest := strconv.AppendInt(nil, int64(10000+tenThousandths%10000), 10)
	return append(b, rest[1:]...) // the leading 1 kept the zeros
}
