package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// events reads the events of a text/event-stream, as the HTML standard describes it.
type events struct {
	from    *bufio.Reader
	begun   bool          // the first line was read, before which there may be a byte order mark
	afterCR bool          // the last line has ended with CR, and a LF belongs to it
	id      string        // the last event id; it stays until another one is sent
	retry   time.Duration // that the server asks for; 0 if it does not
}

// mostEvent bounds the data of one event, and any of its lines.
const mostEvent = 1 << 20

var errLongEvent = errors.New("an event is too large")

func newEvents(from io.Reader) *events { return &events{from: bufio.NewReader(from)} }

// next reads the next event. One that the stream ends in is dropped.
func (s *events) next() (e Event, err error) {
	var data bytes.Buffer
	name, hasData := "", false
	for {
		line, err := s.line()
		if err != nil {
			return e, err
		}
		if len(line) == 0 {
			if hasData {
				return Event{ID: s.id, Name: orMessage(name), Data: bytes.TrimSuffix(data.Bytes(), []byte("\n"))}, nil
			}
			name = "" // without data there is no event
			continue
		}
		switch field, value := split(line); field {
		case "data":
			hasData = true
			if data.Len()+len(value) >= mostEvent {
				return e, errLongEvent
			}
			data.WriteString(value)
			data.WriteByte('\n')
		case "event":
			name = value
		case "id":
			if isSendable(value) {
				s.id = value
			}
		case "retry":
			s.setRetry(value)
		}
	}
}

// isSendable reports whether a client can send an event id back, in a header. The standard ignores those with NUL;
// others of this sort no server would send.
func isSendable(id string) bool {
	const most = 1000
	return len(id) <= most && !strings.ContainsFunc(id, unicode.IsControl) && utf8.ValidString(id)
}

// orMessage is the name of an event; one without a name is a message.
func orMessage(name string) string {
	if name == "" {
		return "message"
	}
	return name
}

// setRetry takes how long to wait before another connection, in milliseconds. Anything but digits is ignored.
func (s *events) setRetry(text string) {
	if strings.Trim(text, "0123456789") != "" {
		return
	}
	if ms, err := strconv.ParseInt(text, 10, 32); err == nil {
		s.retry = time.Duration(ms) * time.Millisecond
	}
}

// split splits a line into a field and its value. A comment has an empty field.
func split(line []byte) (field, value string) {
	name, rest, _ := bytes.Cut(line, []byte(":"))
	return string(name), string(bytes.TrimPrefix(rest, []byte(" ")))
}

// line reads a line without its end: CR LF, LF or CR. After a CR it does not wait for what follows: that may be the
// next event, an hour later.
func (s *events) line() ([]byte, error) {
	var line []byte
	for {
		c, err := s.from.ReadByte()
		if err != nil {
			return nil, err
		}
		switch {
		case c == '\n' && s.afterCR:
			s.afterCR = false
			continue
		case c == '\n' || c == '\r':
			s.afterCR = c == '\r'
			return s.first(line), nil
		}
		s.afterCR = false
		if len(line) == mostEvent {
			return nil, errLongEvent
		}
		line = append(line, c)
	}
}

// first removes the byte order mark of the first line.
func (s *events) first(line []byte) []byte {
	if s.begun {
		return line
	}
	s.begun = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}
