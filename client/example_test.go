package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydata/assay/client"
)

// exampleClient is a client of a server that responds as the real one does to the tests of its own: their responses
// are in files.
func exampleClient() (c *client.Client, stop func()) {
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		status, body := recorded(in.URL.RequestURI())
		writeJSON(out, status, body)
	}))
	c, err := client.New(server.URL, client.WithKey("sk_live_example"))
	if err != nil {
		log.Fatal(err)
	}
	return c, server.Close
}

// recorded finds a response by its request, whose parameters may be in any order.
func recorded(target string) (status int, body string) {
	files, err := filepath.Glob("../internal/api/testdata/responses/*.txt")
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		head, body, _ := strings.Cut(string(text), "\n\n{")
		lines := strings.Split(head, "\n")
		request, _, _ := strings.Cut(strings.TrimPrefix(lines[0], "GET "), " as ")
		if sorted(request) == sorted(target) {
			_, _ = fmt.Sscan(lines[2], &status)
			return status, "{" + body
		}
	}
	return 400, `{"error":"Bad request","message":"Invalid GPU type.","code":"unknown_gpu","request_id":"example",` +
		`"param":"gpuName","allowed":["H100 SXM","H200","A100 SXM4","RTX 5090","B200","RTX PRO 6000 WS"]}`
}

// sorted is a request with its parameters in the order of their names.
func sorted(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		log.Fatal(err)
	}
	return u.EscapedPath() + "?" + u.Query().Encode()
}

func ExampleClient_GPUPrice() {
	c, stop := exampleClient()
	defer stop()

	price, err := c.GPUPrice(context.Background(), "H100 SXM", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(price.Data.GPUName, price.Data.IndexValue, price.Data.LastUpdated)
	// Output: H100 SXM 2.1062 2026-02-04 12:00:00 +0000 UTC
}

func ExampleClient_H100History() {
	c, stop := exampleClient()
	defer stop()

	history, err := c.H100History(context.Background(), &client.HistoryParams{EndDate: "2025-11-06"})
	if err != nil {
		log.Fatal(err)
	}
	for _, point := range history.Data {
		fmt.Println(client.DayOf(point.Timestamp), point.IndexValue)
	}
	// Output:
	// 2025-11-04 2.1782
	// 2025-11-05 2.1819
	// 2025-11-06 2.1856
}

func ExampleClient_DailyIndex() {
	c, stop := exampleClient()
	defer stop()

	day, err := c.DailyIndex(context.Background(), &client.DailyIndexParams{GPUType: "B200", Date: "2025-10-25"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(day.Data.IndexValue, day.Access)
	// Output: 2.5412 premium
}
