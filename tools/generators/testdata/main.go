// Calls ten routes with the client that oapi-codegen generates.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/assaydata/assay/tools/generators/api"
)

// facts are what a client reads from ten routes, and from an error. All clients must read the same.
type facts struct {
	Status  string    `json:"status"`
	Models  []string  `json:"models"`
	Price   float64   `json:"price"`
	Prices  int       `json:"prices"`
	Day     string    `json:"day"`
	History [][2]any  `json:"history"`
	Hours   int       `json:"hours"`
	Memory  []string  `json:"memory"`
	Tokens  [][2]any  `json:"tokens"`
	Sites   []*string `json:"sites"`
	Unknown string    `json:"unknown"`
}

const instant = "2006-01-02T15:04:05.000Z"

func main() {
	client, err := api.NewClientWithResponses(os.Getenv("ASSAY_URL"), api.WithRequestEditorFn(authorize))
	must(err)
	text, err := json.Marshal(read(context.Background(), client))
	must(err)
	fmt.Println(string(text))
}

func authorize(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer "+os.Getenv("ASSAY_KEY"))
	return nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// need is the body of a response with the status that it must have.
func need[T any](body *T, response interface{ Status() string }) *T {
	if body == nil {
		must(errors.New("unexpected status " + response.Status()))
	}
	return body
}

func read(ctx context.Context, client *api.ClientWithResponses) (f facts) {
	const model = "H100 SXM"
	start, end, other, day, lab, norway := "2026-10-01", "2026-10-05", "H200", "2026-10-30", "openai", "Norway"
	dram, five := api.GetMemoryIndexParamsCategoryDram, int32(5)

	ready, err := client.GetReadinessWithResponse(ctx)
	must(err)
	f.Status = need(ready.JSON200, ready).Status
	types, err := client.ListGpuTypesWithResponse(ctx, nil)
	must(err)
	for _, row := range need(types.JSON200, types).Data {
		f.Models = append(f.Models, row.GpuName)
	}
	price, err := client.GetGpuPriceWithResponse(ctx, model, nil)
	must(err)
	f.Price = need(price.JSON200, price).Data.IndexValue
	prices, err := client.ListGpuPricesWithResponse(ctx, nil)
	must(err)
	f.Prices = need(prices.JSON200, prices).Count
	daily, err := client.GetDailyIndexWithResponse(ctx, &api.GetDailyIndexParams{GpuType: &other, Date: &day})
	must(err)
	f.Day = need(daily.JSON200, daily).Data.Date.Format(instant)
	days := api.GetIndexHistoryParams{StartDate: &start, EndDate: &end}
	history, err := client.GetIndexHistoryWithResponse(ctx, model, &days)
	must(err)
	for _, row := range need(history.JSON200, history).Data {
		f.History = append(f.History, [2]any{row.Timestamp.Format(instant), row.IndexValue})
	}
	hourly := api.GetHourlyHistoryParams{StartDate: &start, EndDate: &end}
	hours, err := client.GetHourlyHistoryWithResponse(ctx, model, &hourly)
	must(err)
	f.Hours = need(hours.JSON200, hours).Count
	memory, err := client.GetMemoryIndexWithResponse(ctx, &api.GetMemoryIndexParams{Category: &dram})
	must(err)
	rows, err := need(memory.JSON200, memory).Data.AsMemoryIndexData1()
	must(err)
	for _, row := range rows {
		f.Memory = append(f.Memory, row.Id)
	}
	tokens, err := client.GetOtpiWithResponse(ctx, &api.GetOtpiParams{Lab: &lab, StartDate: &start, EndDate: &end})
	must(err)
	for _, row := range need(tokens.JSON200, tokens).Data {
		f.Tokens = append(f.Tokens, [2]any{row.Date.String(), row.IndexPerMtok})
	}
	sites, err := client.ListSitesWithResponse(ctx, &api.ListSitesParams{Country: &norway, Limit: &five})
	must(err)
	for _, site := range need(sites.JSON200, sites).Sites {
		f.Sites = append(f.Sites, site.KeyCustomer)
	}
	unknown, err := client.GetGpuPriceWithResponse(ctx, "A model of tomorrow", nil)
	must(err)
	f.Unknown = need(unknown.JSON400, unknown).Code
	return f
}
