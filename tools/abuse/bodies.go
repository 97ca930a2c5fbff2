//go:build linux

package main

import (
	"encoding/json"
	"strings"
)

// hostileBodies are bodies that break careless decoders.
var hostileBodies = []string{
	"", " ", "null", "true", "0", `""`, "[]", "{}", "{", "}", `{"a"`, `{"email"`, `[[[[`, `{"email":}`,
	`{"email":1}`, `{"name":1e999}`,
	`{"name":"x"}{"name":"y"}`, `{"name":"x","name":"y"}`, `{"NAME":"x"}`, `{"name":"x",}`, `{'name':'x'}`,
	`{"__proto__":{"admin":true}}`,
	`{"name":null}`, `{"name":{"$gt":""}}`, `{"name":["x"]}`, `{"grace_hours":-1}`, `{"grace_hours":169}`,
	`{"grace_hours":1.5}`,
	`{"grace_hours":99999999999999999999}`, `{"grace_hours":"24"}`, `{"grace_hours":null}`, "\xef\xbb\xbf{}",
	"\xff\xfe{\x00}\x00",
	`{"name":"\ud800"}`, `{"name":"\u0000"}`, `{"name":"` + "\x00" + `"}`, "name=x&grace_hours=1",
	"<?xml version=\"1.0\"?><a/>",
	`{"name":"` + strings.Repeat("x", 300) + `"}`, `{"name":"\u202egnp.exe"}`,
	`{"name":"sk_live_abcdef_` + strings.Repeat("k", 49) + `"}`,
	`{"email":"` + strings.Repeat("a", 3000) + `@example.com","password":""}`, `{"email":"","password":"x"}`,
	`{"email":"a@b","password":1}`,
	strings.Repeat("[", 2000), strings.Repeat(`{"a":`, 600), "\x1f\x8b\x08\x00\x00\x00\x00\x00",
	`{"current":"","next":""}`, `{"current":"x"}`,
	`{"current":"` + strings.Repeat("c", 200) + `","next":1}`, `{"next":"aaaaaaaaaaaa"}`,
}

func hostileBody(d draw, r *request) bool {
	if r.framing == noBody {
		return false
	}
	r.body = []byte(pick(d, hostileBodies))
	return true
}

func contentType(d draw, r *request) bool {
	if r.framing == noBody {
		return false
	}
	r.setHeader("Content-Type", pick(d, []string{
		"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
		"application/json; charset=utf-16", "application/json;",
		"application/JSON", "application/json, text/html", "application/json; charset=\"", "\xff", "application/xml",
		strings.Repeat("a", 2000),
	}))
	return true
}

// hostileField puts a hostile text into a field of a body.
func hostileField(d draw, r *request) bool {
	fields := map[string]any{}
	if r.framing == noBody || json.Unmarshal(r.body, &fields) != nil {
		return false
	}
	names := sortedKeys(fields)
	if len(names) == 0 || hasPassword(names) {
		return false
	}
	fields[pick(d, names)] = pick(d, hostileValues)
	text, err := json.Marshal(fields)
	r.body = text
	return err == nil
}

// bodyOfARead sends a body where none is expected.
func bodyOfARead(d draw, r *request) bool {
	if r.framing != noBody {
		return false
	}
	body := pick(d, []string{
		"x", "{}", "GET /api/keys HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n", strings.Repeat("b", 5000),
	})
	r.setBody([]byte(body), pick(d, []framing{byLength, chunked}))
	return true
}

func longBody(d draw, r *request) bool {
	if r.framing == noBody {
		return false
	}
	r.body = []byte(`{"name":"` + strings.Repeat("n", pick(d, []int{4000, 4096, 5000, 20_000})) + `"}`)
	return true
}

// expect asks whether the server wants the body, and sends it at once.
func expect(_ draw, r *request) bool {
	r.setHeader("Expect", "100-continue")
	return r.framing != noBody
}
