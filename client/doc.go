// Package client reads market data from a server of Assay.
//
// A Client has one method for each route of the API. Each takes a context, what the route requires, and a pointer to
// the optional parameters, which may be nil:
//
//	c, err := client.New("https://data.example", client.WithKey(key))
//	price, err := c.GPUPrice(ctx, "H100 SXM", nil)
//	fmt.Println(price.Data.IndexValue)
//
// The fields of parameters and responses have the names of the API: startDate is StartDate, as_of is AsOf. The API
// guide (docs/api.md) says what they mean.
//
// # Values
//
// Prices and other numbers are an [assay.Nanos] or an [assay.Micros]: exact decimals that print and encode as the
// server sent them. Float returns the nearest float64. A number that may be missing is a pointer. Instants are a
// [time.Time] in UTC, days a [Day]. Words such as Access or Granularity are text: the server may use new ones, and a
// client should treat a word that it does not know as a new one. Every response has a [Meta], which says whether the
// data is synthetic, or old because the server has lost its database.
//
// # More than one request
//
// The methods that begin with Each return iterators. They request one page after the other and decode rows one at a
// time, so that memory does not grow with the range:
//
//	for point, err := range c.EachPoint(ctx, "H100 SXM", &client.HistoryParams{StartDate: "2025-01-01"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(point.Timestamp, point.IndexValue)
//	}
//
// [Client.Table] downloads a route's rows as CSV, NDJSON or Parquet. [Client.Stream] follows what is published.
//
// # Errors
//
// Every error is an [*assay.Error], also inside the iterators. Its Kind says what to do, its Code says why in one word:
// the codes of the API, and these, for which there is no response of the API:
//
//   - bad_argument: the client cannot send this
//   - connection, timeout: there is no response
//   - canceled: the context has ended
//   - redirect: the server sends the client elsewhere, which the API never does; the base URL is wrong
//   - bad_response: what responds is not the API, or the response is broken
//   - not_proven: the server could not prove a value to a [Verifier]
//
// An error's RequestID is what to quote in a report. No error has the API key in it.
//
// # Requests that fail
//
// A response with 429 or 503, and a connection that fails before a response, is tried again up to three times, after
// exactly the time that the server names in Retry-After, or else after a random time that grows. If the server asks
// for more patience than [WithMaxWait] allows, the error is returned at once, with RetryAfter. The API only reads, so
// nothing happens twice. [WithTimeout] bounds an attempt, the context everything.
//
// # Proof
//
// A [Verifier] checks that the server's log lists a value, with the key of the log that you have from elsewhere: so you
// need not trust the server.
package client
