// Package console serves the routes that may wait for the database: sessions, accounts, API keys, usage, alerts,
// webhooks, share links, watchlists and saved views, sign-in through an OpenID Connect provider, the look-up of
// determination records, and the log. Market data is served by internal/api, which cannot reach the database.
package console

import (
	"context"
	"net/http"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/links"
	"github.com/assaydata/assay/internal/notify"
	"github.com/assaydata/assay/internal/oidc"
	"github.com/assaydata/assay/internal/personal"
	"github.com/assaydata/assay/internal/usage"
	"github.com/assaydata/assay/internal/web"
)

// Config is what the console needs.
type Config struct {
	API      *api.API // finds the slots of determination records
	Accounts *account.Service
	Usage    *usage.Counter
	Limits   *sharedlimit.Redis // counts for all nodes together; nil when this node counts alone
	Alerts   *notify.Service
	Links    *links.Service
	Personal *personal.Service
	OIDC     *oidc.Provider // nil for none
	OIDCName string         // the provider's name on the sign-in page

	Log func() Log // the log, once the database is open

	// Determinations reads all revisions of a slot's record, oldest first; none when nothing was published there.
	Determinations func(ctx context.Context, line assay.Line, grain assay.Grain, at int64) ([]assay.Determination, error)
	// ValueRecords reads all revisions of the record of a value of another family, oldest first.
	ValueRecords func(ctx context.Context, index, series string, day int64) ([]assay.ValueRecord, error)
}

// Console serves the routes.
type Console struct {
	Config
	guesses guesses
	log     logReader
}

// New makes the console.
func New(config Config) *Console {
	return &Console{Config: config, guesses: newGuesses(config.Limits), log: newLogReader()}
}

// Routes are for the pages of this server: no other origin may call them, and nothing is cached.
func (c *Console) Routes() web.Group {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	const patch = http.MethodPatch
	route := func(method, path string, limit web.LimitClass, rule access.Rule, serve handler) web.Route {
		return web.Route{Method: method, Path: path, Limit: limit, Rule: rule, Serve: serve}
	}
	return web.Group{Private: true, Session: c.session, Routes: []web.Route{
		route(get, "/api/session", web.Unlimited, access.Public, c.showSession),
		route(post, "/api/session", web.Unlimited, access.Public, c.signIn),
		route(del, "/api/session", web.Unlimited, access.Public, c.signOut),
		route(post, "/api/session/second-factor", web.Unlimited, access.Public, c.finishSignIn),
		route(post, "/api/session/passkey/options", web.PerAddress, access.Public, c.beginPasskey),
		route(post, "/api/session/passkey", web.Unlimited, access.Public, c.finishPasskey),
		route(get, oidcPath, web.PerAddress, access.Public, c.beginOIDC),
		route(get, OIDCCallback, web.PerAddress, access.Public, c.finishOIDC),
		route(post, oidcPath+"/link", web.Unlimited, access.Public, c.linkOIDC),

		route(get, "/api/account", web.PerKey, access.SignedIn, c.showAccount),
		route(put, "/api/account/password", web.PerKey, access.SignedInTemporary, c.changePassword),
		route(get, "/api/account/sessions", web.PerKey, access.SignedIn, c.listSessions),
		route(del, "/api/account/sessions", web.PerKey, access.SignedIn, c.endOtherSessions),
		route(del, "/api/account/sessions/{id}", web.PerKey, access.SignedIn, c.endSession),
		route(post, "/api/account/proof", web.PerKey, access.SignedInFirst, c.givePassword),
		route(get, "/api/account/second-factors", web.PerKey, access.SignedInFirst, c.showSecondFactors),
		route(post, "/api/account/second-factors/totp", web.PerKey, access.SignedInFirst, c.beginTOTP),
		route(put, "/api/account/second-factors/totp", web.PerKey, access.SignedInFirst, c.finishTOTP),
		route(del, "/api/account/second-factors/totp", web.PerKey, access.SignedIn, c.removeTOTP),
		route(post, "/api/account/second-factors/passkeys/options", web.PerKey, access.SignedInFirst, c.beginAddPasskey),
		route(post, "/api/account/second-factors/passkeys", web.PerKey, access.SignedInFirst, c.finishAddPasskey),
		route(del, "/api/account/second-factors/passkeys/{id}", web.PerKey, access.SignedIn, c.removePasskey),
		route(post, "/api/account/second-factors/recovery-codes", web.PerKey, access.SignedIn, c.replaceRecoveryCodes),
		route(get, "/api/keys", web.PerKey, access.SignedIn, c.listKeys),
		route(post, "/api/create-api-key", web.PerKey, access.SignedIn, c.createKey),
		route(del, "/api/keys/{id}", web.PerKey, access.SignedIn, c.revokeKey),
		route(post, "/api/keys/{id}/rotate", web.PerKey, access.SignedIn, c.rotateKey),
		route(get, "/api/usage", web.PerKey, access.SignedInOrKey, c.showUsage),

		route(get, "/api/alerts", web.PerKey, access.SignedInOrKey, c.listAlerts),
		route(post, "/api/alerts", web.PerKey, access.SignedInOrKey, c.createAlert),
		route(patch, "/api/alerts/{id}", web.PerKey, access.SignedInOrKey, c.changeAlert),
		route(del, "/api/alerts/{id}", web.PerKey, access.SignedInOrKey, c.removeAlert),
		route(get, "/api/webhooks", web.PerKey, access.SignedInOrKey, c.listWebhooks),
		route(post, "/api/webhooks", web.PerKey, access.SignedInOrKey, c.createWebhook),
		route(patch, "/api/webhooks/{id}", web.PerKey, access.SignedInOrKey, c.changeWebhook),
		route(del, "/api/webhooks/{id}", web.PerKey, access.SignedInOrKey, c.removeWebhook),
		route(post, "/api/webhooks/{id}/secret/rotate", web.PerKey, access.SignedInOrKey, c.rotateSecret),
		route(post, "/api/webhooks/{id}/test", web.PerKey, access.SignedInOrKey, c.testWebhook),
		route(get, "/api/webhooks/{id}/deliveries", web.PerKey, access.SignedInOrKey, c.listDeliveries),
		route(post, "/api/webhooks/{id}/deliveries/{delivery}/replay", web.PerKey, access.SignedInOrKey, c.replayDelivery),

		route(get, "/api/share-links", web.PerKey, access.SignedInOrKey, c.listShareLinks),
		route(post, "/api/share-links", web.PerKey, access.SignedInOrKey, c.createShareLink),
		route(del, "/api/share-links/{id}", web.PerKey, access.SignedInOrKey, c.revokeShareLink),

		route(get, "/api/watchlist", web.PerKey, access.SignedIn, c.showWatchlist),
		route(put, "/api/watchlist", web.PerKey, access.SignedIn, c.setWatchlist),
		route(get, "/api/views", web.PerKey, access.SignedIn, c.listViews),
		route(post, "/api/views", web.PerKey, access.SignedIn, c.saveView),
		route(del, "/api/views/{id}", web.PerKey, access.SignedIn, c.removeView),
	}}
}

// RecordRoutes are for programs from any origin, like the market data. Their callers are found in memory: only the
// record itself is read from the database.
func (c *Console) RecordRoutes() web.Group {
	return web.Group{Session: c.sessionInMemory, Routes: []web.Route{
		{
			Method: http.MethodGet, Path: "/api/gpu/{gpuName}/determination",
			Limit: web.PerCaller, Rule: access.FreeGPU, Serve: c.determination,
		},
		{
			Method: http.MethodGet, Path: "/api/determinations/{index}",
			Limit: web.PerCaller, Rule: access.FreeLab, Serve: c.valueDetermination,
		},
	}}
}

type handler = func(*web.Request) (web.Response, error)

// session returns the owner of a session. A session that is not in memory is looked up in the database: another node
// may have started it a moment ago.
func (c *Console) session(r *web.Request, token string) (assay.Caller, bool) {
	session, ok := c.Accounts.Identify(r.Context(), token, web.LimitAddress(r.Client()))
	return session.Caller, ok
}

// sessionInMemory returns the owner of a session that this node knows.
func (c *Console) sessionInMemory(_ *web.Request, token string) (assay.Caller, bool) {
	session, ok := c.Accounts.IdentifyInMemory(token)
	return session.Caller, ok
}
