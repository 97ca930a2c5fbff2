package console

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// listSessions serves the sessions of an account, newest first.
func (c *Console) listSessions(r *web.Request) (web.Response, error) {
	list, err := c.Accounts.SessionsOf(r.Context(), r.Caller().AccountID, r.SessionToken())
	if err != nil {
		return web.Response{}, err
	}
	return uncached(struct {
		Success bool            `json:"success"`
		Count   int             `json:"count"`
		Data    []assay.Session `json:"data"`
	}{true, len(list), list})
}

// endSession ends a session of an account, be it the one that asks.
func (c *Console) endSession(r *web.Request) (web.Response, error) {
	if err := c.Accounts.EndSession(r.Context(), r.Caller().AccountID, r.PathValue("id")); err != nil {
		return web.Response{}, err
	}
	if _, ok := c.Accounts.IdentifyInMemory(r.SessionToken()); !ok {
		r.SetCookie(web.SessionCookie, "", -1)
	}
	return done()
}

// endOtherSessions ends the sessions of an account except the one that asks.
func (c *Console) endOtherSessions(r *web.Request) (web.Response, error) {
	ended, err := c.Accounts.EndOtherSessions(r.Context(), r.Caller().AccountID, r.SessionToken())
	if err != nil {
		return web.Response{}, err
	}
	return data(struct {
		Ended int `json:"ended"`
	}{ended})
}
