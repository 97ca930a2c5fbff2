package console

import (
	"net/http"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// listShareLinks serves the share links of an account, oldest first.
func (c *Console) listShareLinks(r *web.Request) (web.Response, error) {
	list, err := c.Links.List(r.Context(), r.Caller())
	if err != nil {
		return web.Response{}, err
	}
	return uncached(struct {
		Success bool              `json:"success"`
		Count   int               `json:"count"`
		Data    []assay.ShareLink `json:"data"`
	}{true, len(list), list})
}

// linkPaths are where a share link is, in each of its forms.
type linkPaths struct {
	CSV  string `json:"csv"`
	JSON string `json:"json"`
	SVG  string `json:"svg"`
	PNG  string `json:"png"`
}

func newLinkPaths(token string) linkPaths {
	path := "/s/" + token
	return linkPaths{CSV: path + ".csv", JSON: path + ".json", SVG: path + ".svg", PNG: path + ".png"}
}

// createShareLink makes a share link. Only its response contains the token.
func (c *Console) createShareLink(r *web.Request) (web.Response, error) {
	var given struct {
		Name string `json:"name"`
		assay.SharedSeries
	}
	if err := r.ReadJSON(&given, "name", "family", "series", "region", "granularity", "range"); err != nil {
		return web.Response{}, err
	}
	made, token, err := c.Links.Create(r.Context(), r.Caller(), given.Name, given.SharedSeries)
	if err != nil {
		return web.Response{}, err
	}
	return web.NoStore(http.StatusCreated, struct {
		Success bool            `json:"success"`
		Token   string          `json:"token"`
		Paths   linkPaths       `json:"paths"`
		Data    assay.ShareLink `json:"data"`
	}{true, token, newLinkPaths(token), made})
}

// revokeShareLink ends a share link for good.
func (c *Console) revokeShareLink(r *web.Request) (web.Response, error) {
	if err := c.Links.Revoke(r.Context(), r.Caller(), r.PathValue("id")); err != nil {
		return web.Response{}, err
	}
	return done()
}
