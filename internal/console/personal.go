package console

import (
	"net/http"

	"github.com/assaydata/assay/internal/personal"
	"github.com/assaydata/assay/internal/web"
)

// showWatchlist serves what the account watches.
func (c *Console) showWatchlist(r *web.Request) (web.Response, error) {
	list, err := c.Personal.Watchlist(r.Context(), r.Caller().AccountID)
	if err != nil {
		return web.Response{}, err
	}
	return data(list)
}

// setWatchlist replaces what the account watches.
func (c *Console) setWatchlist(r *web.Request) (web.Response, error) {
	var given personal.Watchlist
	if err := r.ReadJSON(&given, "gpu_types", "version"); err != nil {
		return web.Response{}, err
	}
	list, err := c.Personal.SetWatchlist(r.Context(), r.Caller().AccountID, given.GPUs, given.Version)
	if err != nil {
		return web.Response{}, err
	}
	return data(list)
}

// listViews serves the saved views of the account, oldest first.
func (c *Console) listViews(r *web.Request) (web.Response, error) {
	list, err := c.Personal.Views(r.Context(), r.Caller().AccountID)
	if err != nil {
		return web.Response{}, err
	}
	return uncached(struct {
		Success bool            `json:"success"`
		Count   int             `json:"count"`
		Data    []personal.View `json:"data"`
	}{true, len(list), list})
}

// saveView saves an address of the dashboard under a name.
func (c *Console) saveView(r *web.Request) (web.Response, error) {
	var given struct {
		Name string `json:"name"`
		Path string `json:"path"`
	}
	if err := r.ReadJSON(&given, "name", "path"); err != nil {
		return web.Response{}, err
	}
	saved, err := c.Personal.SaveView(r.Context(), r.Caller().AccountID, given.Name, given.Path)
	if err != nil {
		return web.Response{}, err
	}
	return web.NoStore(http.StatusCreated, struct {
		Success bool          `json:"success"`
		Data    personal.View `json:"data"`
	}{true, saved})
}

// removeView deletes a saved view.
func (c *Console) removeView(r *web.Request) (web.Response, error) {
	if err := c.Personal.RemoveView(r.Context(), r.Caller().AccountID, r.PathValue("id")); err != nil {
		return web.Response{}, err
	}
	return done()
}
