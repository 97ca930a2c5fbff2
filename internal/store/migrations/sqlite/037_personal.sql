-- The GPU models that an account watches, in its order.
CREATE TABLE watchlist (
    account_id INTEGER NOT NULL,
    position   INTEGER NOT NULL, -- from 0
    gpu        TEXT    NOT NULL, -- the name of a GPU model
    PRIMARY KEY (account_id, position)
) WITHOUT ROWID;

-- Addresses of the dashboard that an account has saved under a name.
CREATE TABLE saved_views (
    view_id    TEXT    PRIMARY KEY, -- public
    account_id INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    path       TEXT    NOT NULL,    -- with its query
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX saved_views_by_name ON saved_views (account_id, name);
