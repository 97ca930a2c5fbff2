package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// requestWithKey sends a JSON body with a key and returns the response's body, whose status must be the given one.
func requestWithKey(t *testing.T, key, method, url, body string, status int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := newClient(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s %s: %d %s", method, url, response.StatusCode, text)
	}
	return string(text)
}
