-- As in SQLite's 036_ingest_keys.sql.
CREATE TABLE ingest_keys (
    key_id     TEXT COLLATE "C" PRIMARY KEY,
    hash       BYTEA  NOT NULL UNIQUE,
    source     TEXT COLLATE "C" NOT NULL,
    families   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

INSERT INTO counters (name, value) VALUES ('ingest_keys', 0);
