package push

import (
	"bytes"
	"encoding/json"
)

// AppendEvent appends an event. The data has no line ends; the id may be empty.
func AppendEvent(dst []byte, name, id string, data []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(append(append(dst, "event: "...), name...), '\n')
	dst = append(append(append(dst, "data: "...), data...), '\n')
	return append(dst, '\n')
}

// endOfEvent is the empty line after an event.
var endOfEvent = []byte("\n\n")

// afterEvent is the rest of a text up to the end of the event that it begins within.
func afterEvent(text []byte) []byte {
	if i := bytes.Index(text, endOfEvent); i >= 0 {
		return text[:i+len(endOfEvent)]
	}
	return text
}

// Bye is the last event of a connection: why it ends.
type Bye struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// The reasons for which this package ends connections.
var (
	SlowReader = Bye{"slow_reader", "You read more slowly than the events come. Connect again to continue."}
	Shutdown   = Bye{"shutdown", "This node is shutting down. Connect again to continue."}
	Lifetime   = Bye{"lifetime", "The connection has lasted for long enough. Connect again to continue."}
)

func (b Bye) event() []byte {
	data, err := json.Marshal(b)
	if err != nil {
		panic(err) // two texts can always be encoded
	}
	return AppendEvent(nil, "bye", "", data)
}
