-- Notices to readers about the index.
CREATE TABLE notices (
    notice   INTEGER PRIMARY KEY, -- 1, 2, 3 …
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    gpu_name TEXT    NOT NULL,    -- empty for all
    region   TEXT    NOT NULL,    -- likewise
    about    INTEGER NOT NULL,    -- an instant, or 0
    text     TEXT    NOT NULL,
    actor    TEXT    NOT NULL,    -- empty for the publisher
    approver TEXT    NOT NULL,    -- likewise
    checksum INTEGER NOT NULL
);
CREATE INDEX notices_by_kind ON notices (kind);
INSERT INTO counters (name, value) VALUES ('notices', 0);
