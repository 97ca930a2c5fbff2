// Package personal manages what a reader keeps for themself: a watchlist and saved views.
package personal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/redact"
	"github.com/assaydata/assay/internal/store"
)

// What an account may have: more than anyone looks at, and little for the database.
const (
	MaxWatched = 50
	MaxViews   = 100
)

const (
	maxName = 80   // characters
	maxPath = 2000 // bytes; a body of 4,096 bytes has room for it and the name
)

// Service manages the watchlists and the saved views.
type Service struct {
	Store  *store.DB
	IsPage func(*url.URL) bool // whether the dashboard has a page at a path
}

func refuse(kind assay.Kind, code, format string, args ...any) error {
	return &assay.Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

var (
	errNoAccount = refuse(assay.Unauthorized, "session_required", "Sign in first.")
	errNoView    = refuse(assay.NotFound, "unknown_view", "There is no such saved view.")
	errTooMany   = refuse(assay.Forbidden, "too_many_views",
		"An account has at most %d saved views. Delete one first.", MaxViews)
	errExists  = refuse(assay.Conflict, "view_exists", "There is a saved view with this name already.")
	errChanged = refuse(assay.Conflict, "watchlist_changed",
		"The watchlist has changed since it was read. Read it again and repeat the change.")
)

// invalid says what a field must be.
func invalid(field, format string, args ...any) error {
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter", Param: field,
		Message: fmt.Sprintf("Invalid value for %q: %s.", field, fmt.Sprintf(format, args...)),
	}
}

// Watchlist is the GPU models that a reader watches, in the reader's order.
type Watchlist struct {
	GPUs    []string `json:"gpu_types"`
	Version string   `json:"version"` // differs when the models or their order differ
}

// Watchlist reads what an account watches. GPU models that the operator has hidden meanwhile are left out.
func (s *Service) Watchlist(ctx context.Context, accountID int64) (w Watchlist, err error) {
	catalog, err := s.Store.Catalog(ctx)
	if err != nil {
		return w, err
	}
	gpus, err := s.Store.Watchlist(ctx, accountID)
	return newWatchlist(gpus, &catalog), err
}

func newWatchlist(stored []string, catalog *assay.Catalog) Watchlist {
	listed := slices.DeleteFunc(slices.Clone(stored), func(gpu string) bool {
		_, ok := catalog.GPU(gpu)
		return !ok
	})
	sum := sha256.Sum256([]byte(strings.Join(listed, "\n")))
	return Watchlist{GPUs: append([]string{}, listed...), Version: hex.EncodeToString(sum[:8])}
}

// SetWatchlist replaces what an account watches. With a version, only if that is still the version of what it watches:
// two pages that change the list at once do not undo each other's changes.
func (s *Service) SetWatchlist(ctx context.Context, accountID int64, gpus []string, version string) (Watchlist, error) {
	catalog, err := s.Store.Catalog(ctx)
	if err != nil {
		return Watchlist{}, err
	}
	if err := checkWatched(gpus, &catalog); err != nil {
		return Watchlist{}, err
	}
	err = s.Store.ChangeWatchlist(ctx, accountID, func(before []string) ([]string, error) {
		if version != "" && version != newWatchlist(before, &catalog).Version {
			return nil, errChanged
		}
		return gpus, nil
	})
	return newWatchlist(gpus, &catalog), translate(err)
}

func checkWatched(gpus []string, catalog *assay.Catalog) error {
	const field = "gpu_types"
	if gpus == nil {
		return invalid(field, "must be a list of GPU models")
	}
	if len(gpus) > MaxWatched {
		return invalid(field, "has %d GPU models, allowed are at most %d", len(gpus), MaxWatched)
	}
	for i, gpu := range gpus {
		if _, ok := catalog.GPU(gpu); !ok {
			allowed := catalog.GPUNames()
			return &assay.Error{
				Kind: assay.Invalid, Code: "unknown_gpu", Param: field, Allowed: allowed,
				Message: fmt.Sprintf("Invalid GPU type %q. Allowed: %s", shown(gpu), strings.Join(allowed, ", ")),
			}
		}
		if slices.Contains(gpus[:i], gpu) {
			return invalid(field, "has %q twice, allowed is once", gpu)
		}
	}
	return nil
}

// shown is a value as an error may repeat it.
func shown(value string) string {
	value = redact.Keys(value)
	if runes := []rune(value); len(runes) > maxName {
		return string(runes[:maxName]) + "…"
	}
	return value
}

// View is a saved view.
type View struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Path      string          `json:"path"`
	CreatedAt assay.Timestamp `json:"created_at"`
}

func newView(v *store.SavedView) View {
	return View{ID: v.ID, Name: v.Name, Path: v.Path, CreatedAt: assay.Timestamp(v.CreatedAt)}
}

// Views lists the saved views of an account, oldest first.
func (s *Service) Views(ctx context.Context, accountID int64) ([]View, error) {
	stored, err := s.Store.SavedViews(ctx, accountID)
	list := make([]View, len(stored))
	for i := range stored {
		list[i] = newView(&stored[i])
	}
	return list, err
}

// SaveView saves an address of the dashboard under a name.
func (s *Service) SaveView(ctx context.Context, accountID int64, name, address string) (View, error) {
	if err := checkName(name); err != nil {
		return View{}, err
	}
	if err := s.checkPath(address); err != nil {
		return View{}, err
	}
	added, err := s.Store.AddSavedView(ctx, store.SavedView{
		ID: "sv_" + strings.ToLower(rand.Text()), AccountID: accountID, Name: name, Path: address,
	}, MaxViews)
	return newView(&added), translate(err)
}

// RemoveView deletes a saved view of an account.
func (s *Service) RemoveView(ctx context.Context, accountID int64, id string) error {
	if assay.CheckVisible("id", id) != nil {
		return errNoView // PostgreSQL takes no NUL in a text
	}
	return translate(s.Store.RemoveSavedView(ctx, accountID, id))
}

// checkName refuses a name that is too long, cannot be shown on one line or holds a secret.
func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	if n < 1 || n > maxName || strings.TrimSpace(name) != name || assay.CheckVisible("name", name) != nil ||
		redact.Keys(name) != name {
		return invalid("name", "must be 1 to %d visible characters without a space at either end, and no key or token",
			maxName)
	}
	return nil
}

// checkPath refuses what is not the address of a page as a browser writes it. Browsers follow the address later, so it
// must not lead to another server, and it must hold no secret.
func (s *Service) checkPath(address string) error {
	if len(address) > maxPath {
		return invalid("path", "has %d bytes, allowed are at most %d", len(address), maxPath)
	}
	wrong := invalid("path",
		`must be the path of a page of the dashboard that can be saved, with its query, such as "/gpu/H200?range=1Y"`)
	strange := func(c rune) bool { return c <= ' ' || c > '~' || c == '\\' || c == '#' }
	if strings.ContainsFunc(address, strange) || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
		return wrong
	}
	u, err := url.Parse(address)
	if err != nil || u.Host != "" || path.Clean(u.Path) != u.Path || u.Path == "/signin" || !s.IsPage(u) {
		return wrong
	}
	query, err := url.QueryUnescape(u.RawQuery)
	if err != nil {
		return wrong
	}
	if redact.Keys(u.Path) != u.Path || redact.Keys(query) != query {
		return invalid("path", "holds a key or a token")
	}
	return nil
}

// translate turns errors of the store into those that callers read.
func translate(err error) error {
	for from, to := range map[error]error{
		store.ErrNoView: errNoView, store.ErrTooMany: errTooMany, store.ErrViewExists: errExists,
		store.ErrNoAccount: errNoAccount,
	} {
		if errors.Is(err, from) {
			return to
		}
	}
	return err
}
