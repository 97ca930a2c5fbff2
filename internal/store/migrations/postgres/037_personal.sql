-- As in SQLite's 037_personal.sql.
CREATE TABLE watchlist (
    account_id BIGINT  NOT NULL,
    position   INTEGER NOT NULL,
    gpu        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, position)
);

CREATE TABLE saved_views (
    view_id    TEXT COLLATE "C" PRIMARY KEY,
    account_id BIGINT NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    path       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX saved_views_by_name ON saved_views (account_id, name);
