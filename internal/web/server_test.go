package web_test

import (
	"strings"
	"testing"
)

func TestServe_PanicIsA500WithoutInternals(t *testing.T) {
	r := newRig(t)
	r.Panic = true
	got := r.Get("", "/health")
	if got.StatusCode != 500 || !strings.Contains(got.Text, `"error":"Internal server error"`) || strings.Contains(got.Text, "a bug") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if !strings.Contains(r.Logs.String(), "a bug") || !strings.Contains(r.Logs.String(), got.Header.Get("X-Request-Id")) {
		t.Errorf("the log does not tell of it: %s", r.Logs.String())
	}
}

func TestServe_RequestID(t *testing.T) {
	r := newRig(t)
	f := func(given string, echoed bool) {
		t.Helper()
		got := r.Get("", "/api/gpu/H200", "X-Request-Id", given).Header.Get("X-Request-Id")
		if got == "" || (got == given) != echoed {
			t.Errorf("id %q came back as %q", given, got)
		}
	}
	f("abc-123_x.Y", true)
	f(strings.Repeat("a", 64), true)
	f(strings.Repeat("a", 65), false)
	f("has space", false)
	f("semi;colon", false)
	f("ünïcode", false)
	one, two := r.Get("", "/health").Header.Get("X-Request-Id"), r.Get("", "/health").Header.Get("X-Request-Id")
	if one == two {
		t.Errorf("two requests have the id %s", one)
	}
}

func TestServe_LogsOneLineWithoutSecrets(t *testing.T) {
	r := newRig(t)
	secret := r.Keys["full"]
	r.Get("full", "/api/gpu/H200/hourly?limit=1&api_key="+secret)
	r.Get("", "/api/gpu/"+secret)
	r.Get("", "/"+secret)
	r.Get("", "/api/gpu/H200/index-history?startDate="+secret)
	r.Get("", "/api/gpu/H200", "Authorization", "Bearer "+secret+"x")
	r.Get("", "/api/gpu/H200", "Authorization", secret)
	r.Get("", "/api/gpu/H200", "X-Request-Id", secret)
	logs := r.Logs.String()
	if strings.Contains(logs, secret) || strings.Contains(logs, secret[16:]) {
		t.Errorf("the log holds a key:\n%s", logs)
	}
	if got := strings.Count(logs, "\n"); got != 7 {
		t.Errorf("7 requests left %d lines:\n%s", got, logs)
	}
	if !strings.Contains(logs, `"key":"`+secret[8:14]+`"`) {
		t.Errorf("the log does not name the key's id:\n%s", logs)
	}
}
