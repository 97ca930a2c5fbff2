-- Links to one series each, which work without a key as long as their account has access.
CREATE TABLE share_links (
    link_id     TEXT    PRIMARY KEY, -- public
    hash        BLOB    NOT NULL UNIQUE, -- SHA-256 of the token in the link
    account_id  INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    family      TEXT    NOT NULL,
    series      TEXT    NOT NULL,    -- such as the name of a GPU model
    region      TEXT    NOT NULL,
    granularity TEXT    NOT NULL,
    span        TEXT    NOT NULL,    -- how far back it reaches, such as 3m
    created_at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX share_links_by_account ON share_links (account_id, created_at);

INSERT INTO counters (name, value) VALUES ('share_links', 0);
