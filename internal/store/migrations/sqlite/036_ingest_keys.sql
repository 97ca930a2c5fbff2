-- Keys with which a source may deliver rows over HTTP.
CREATE TABLE ingest_keys (
    key_id     TEXT    PRIMARY KEY, -- the six public characters of the key
    hash       BLOB    NOT NULL UNIQUE, -- SHA-256 of the key
    source     TEXT    NOT NULL,    -- the only one whose rows it may deliver
    families   TEXT    NOT NULL,    -- separated by commas
    created_at INTEGER NOT NULL,
    revoked_at INTEGER              -- NULL: not revoked
) WITHOUT ROWID;

INSERT INTO counters (name, value) VALUES ('ingest_keys', 0);
