package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// A proof is read from the database, and most readers ask for another record. So proofs are also measured alone, of
// many records in turn, beside the cheapest route there is at the same rate: that is what the measurement itself takes.

const (
	provenRecords = 500
	proofLimit    = time.Millisecond // of the p99
)

// proofTimes is how long proofs take.
type proofTimes struct{ proof, livez sample }

var loggedRecord = regexp.MustCompile(`{"type":"record",[^}]*"hash":"([0-9a-f]{64})"}`)

// measureProofs requests proofs of records from all parts of the log.
func (a *assayServer) measureProofs(ctx context.Context, d time.Duration) (t proofTimes, err error) {
	routes, err := a.proofRoutes(ctx)
	if err != nil {
		return t, err
	}
	livez := []*steadyRoute{{route: "/livez", scenario: scenario{path: "/livez", key: a.keys.Full}}}
	if err := a.requestSteadily(ctx, d, livez); err != nil {
		return t, err
	}
	if err := a.requestSteadily(ctx, d, routes); err != nil {
		return t, err
	}
	var took []time.Duration
	for _, r := range routes {
		took = append(took, r.took...)
	}
	return proofTimes{proof: sampleOf(took, d), livez: livez[0].sample}, nil
}

// proofRoutes are requests for the proofs of some records.
func (a *assayServer) proofRoutes(ctx context.Context) (routes []*steadyRoute, err error) {
	for bundle := 0; len(routes) < provenRecords; bundle += 7 {
		path := fmt.Sprintf("/log/tile/entries/%03d", bundle%1000)
		if bundle >= 1000 {
			path = fmt.Sprintf("/log/tile/entries/x%03d/%03d", bundle/1000, bundle%1000)
		}
		text, err := fetch(ctx, a.base, scenario{path: path, key: a.keys.Full})
		if err != nil {
			return nil, errors.Join(errors.New("the log has too few records"), err)
		}
		found := loggedRecord.FindAllSubmatch(text, -1)
		for i := 0; i < len(found); i += 16 {
			r := scenario{path: inclusionRoute + "?record=" + string(found[i][1]), key: a.keys.Full}
			routes = append(routes, &steadyRoute{route: inclusionRoute, scenario: r})
		}
	}
	return routes, nil
}

// proofTable shows how long proofs take, in cells.
func proofTable(t proofTimes) [][]string {
	return [][]string{
		{fmt.Sprintf("route, alone at %s req/s", thousands(steadyRate)), "p50", "p99"},
		{fmt.Sprintf("`%s`, of %d records or more", inclusionRoute, provenRecords), millis(t.proof.p50), millis(t.proof.p99)},
		{"`/livez`", millis(t.livez.p50), millis(t.livez.p99)},
	}
}
