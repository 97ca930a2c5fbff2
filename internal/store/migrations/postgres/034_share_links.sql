-- As in SQLite's 034_share_links.sql.
CREATE TABLE share_links (
    link_id     TEXT COLLATE "C" PRIMARY KEY,
    hash        BYTEA  NOT NULL UNIQUE,
    account_id  BIGINT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    family      TEXT COLLATE "C" NOT NULL,
    series      TEXT COLLATE "C" NOT NULL,
    region      TEXT COLLATE "C" NOT NULL,
    granularity TEXT COLLATE "C" NOT NULL,
    span        TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX share_links_by_account ON share_links (account_id, created_at);

INSERT INTO counters (name, value) VALUES ('share_links', 0);
