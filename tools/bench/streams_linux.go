package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// streams are open connections to /api/stream. The kernel notes when bytes arrive at them, so that reading can wait
// until everything has arrived: the readers of 20,000 streams are elsewhere, and their work is not the server's.
type streams struct {
	sockets []int
	buffers sync.Pool
}

const (
	streamTimeout = 30 * time.Second
	openAtOnce    = 32
	perAddress    = 1000 // streams from one address of loopback, which has only so many ports
)

// openStreams opens so many streams with a key, and reads the first event of each.
func openStreams(ctx context.Context, base, key string, count int) (*streams, error) {
	server, err := netip.ParseAddrPort(strings.TrimPrefix(base, "http://"))
	if err != nil {
		return nil, err
	}
	s := &streams{sockets: make([]int, count), buffers: sync.Pool{New: func() any { return new([256 << 10]byte) }}}
	for i := range s.sockets {
		s.sockets[i] = -1
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(openAtOnce)
	for i := range s.sockets {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.open(i, server, key)
		})
	}
	if err := group.Wait(); err != nil {
		s.Close()
		return nil, fmt.Errorf("open %d streams: %w", count, err)
	}
	return s, nil
}

// allowDescriptors raises the limit of open files to count, also for programs that are started later, and returns how
// many there may be.
func allowDescriptors(count int) (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= uint64(count) {
		return count, err
	}
	raised := unix.Rlimit{Cur: uint64(count), Max: max(limit.Max, uint64(count))}
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
		return count, nil
	}
	raised = unix.Rlimit{Cur: limit.Max, Max: limit.Max}
	return int(limit.Max), unix.Setrlimit(unix.RLIMIT_NOFILE, &raised)
}

func (s *streams) open(i int, server netip.AddrPort, key string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.sockets[i] = socket
	patience := unix.NsecToTimeval(streamTimeout.Nanoseconds())
	from := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 1, byte(1 + i/perAddress)}}
	err = errors.Join(
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.Bind(socket, from),
		unix.Connect(socket, &unix.SockaddrInet4{Port: int(server.Port()), Addr: server.Addr().As4()}),
	)
	if err != nil {
		return err
	}
	request := fmt.Sprintf("GET /api/stream HTTP/1.1\r\nHost: assay\r\nX-Forwarded-For: 10.200.%d.%d\r\n"+
		"Authorization: Bearer %s\r\n\r\n", i/250, 1+i%250, key)
	if _, err := unix.Write(socket, []byte(request)); err != nil {
		return err
	}
	return s.awaitHello(socket)
}

func (s *streams) awaitHello(socket int) error {
	buffer := s.buffers.Get().(*[256 << 10]byte)
	defer s.buffers.Put(buffer)
	var text []byte
	for !bytes.Contains(text, []byte("event: hello\n")) || !bytes.HasSuffix(text, []byte("\n\n")) {
		n, err := unix.Read(socket, buffer[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 || len(text) > 1<<20 {
			return fmt.Errorf("no event hello: %w: %.300q", err, text)
		}
		text = append(text, buffer[:n]...)
	}
	return nil
}

// arrivals is when a publication arrived at each stream, since it was made.
type arrivals struct {
	after   []time.Duration
	skipped int // streams at which a heartbeat came after it: the kernel knows the newest time only
}

// collect reads what has arrived at each stream, which must be all events of one publication.
func (s *streams) collect() (a arrivals, err error) {
	var first []byte
	for i, socket := range s.sockets {
		text, at, err := s.receive(socket)
		if err != nil {
			return a, fmt.Errorf("stream %d of %d: %w", i+1, len(s.sockets), err)
		}
		events := bytes.ReplaceAll(text, []byte(": heartbeat\n\n"), nil)
		if first == nil {
			first = bytes.Clone(events)
		}
		if !bytes.Equal(events, first) || len(events) == 0 {
			return a, fmt.Errorf("stream %d has %.300q, and the first stream %.300q", i+1, events, first)
		}
		if bytes.HasSuffix(text, []byte(": heartbeat\n\n")) {
			a.skipped++
			continue
		}
		made, err := publishedAt(events)
		if err != nil {
			return a, err
		}
		a.after = append(a.after, at.Sub(made))
	}
	return a, nil
}

// receive reads what has arrived at a socket, and when the last of it did.
func (s *streams) receive(socket int) (text []byte, at time.Time, err error) {
	buffer := s.buffers.Get().(*[256 << 10]byte)
	defer s.buffers.Put(buffer)
	var control [128]byte
	for {
		n, m, _, _, err := unix.Recvmsg(socket, buffer[:], control[:], unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return text, at, nil
		case err != nil:
			return nil, at, err
		case n == 0:
			return nil, at, fmt.Errorf("the server has ended it: %.300q", text)
		}
		text = append(text, buffer[:n]...)
		if at, err = arrivalTime(control[:m]); err != nil {
			return nil, at, err
		}
	}
}

// arrivalTime is the kernel's time in a control message.
func arrivalTime(control []byte) (time.Time, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Time{}, err
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS &&
			len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			at := (*unix.Timespec)(unsafe.Pointer(&m.Data[0])) //nolint:gosec // G103: so the kernel writes it
			return time.Unix(at.Unix()), nil
		}
	}
	return time.Time{}, errors.New("the kernel does not say when the bytes arrived")
}

// publishedAt is when the first of some events was published.
func publishedAt(events []byte) (time.Time, error) {
	_, data, _ := bytes.Cut(events, []byte("\ndata: "))
	data, _, _ = bytes.Cut(data, []byte("\n"))
	var event struct {
		PublishedAt time.Time `json:"published_at"`
	}
	if err := json.Unmarshal(data, &event); err != nil || event.PublishedAt.IsZero() {
		return time.Time{}, fmt.Errorf("an event without published_at: %w: %.300q", err, data)
	}
	return event.PublishedAt, nil
}

// Close closes all streams.
func (s *streams) Close() {
	for _, socket := range s.sockets {
		if socket >= 0 {
			_ = unix.Close(socket) // there is nothing left to lose
		}
	}
}
