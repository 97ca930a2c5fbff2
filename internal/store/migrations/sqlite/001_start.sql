-- Counters that readers follow. Each change raises its counter in the same transaction.
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counters VALUES ('catalog', 1), ('keys', 0), ('publication', 0);

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The operator's catalogs. The order of the ids is the registry order.
CREATE TABLE gpus (
    gpu_id   INTEGER PRIMARY KEY,
    gpu_name TEXT NOT NULL UNIQUE,
    free     INTEGER NOT NULL
);
CREATE TABLE regions ( -- id 0 is not used here; in other tables it means no region, that is, global
    region_id INTEGER PRIMARY KEY,
    region    TEXT NOT NULL UNIQUE
);
CREATE TABLE labs (
    lab_id INTEGER PRIMARY KEY,
    lab    TEXT NOT NULL UNIQUE,
    label  TEXT NOT NULL,
    free   INTEGER NOT NULL
);
CREATE TABLE memory_types (
    position    INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    memory_type TEXT NOT NULL UNIQUE,
    category    TEXT NOT NULL
);
CREATE TABLE coding_products (
    position      INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    label         TEXT NOT NULL,
    category      TEXT NOT NULL,
    kind          TEXT NOT NULL,
    series_label  TEXT, -- both labels are set if the product compares two tools
    series_label2 TEXT
);

CREATE TABLE sources (
    source_id INTEGER PRIMARY KEY,
    source    TEXT NOT NULL UNIQUE
);
CREATE TABLE providers (
    provider_id INTEGER PRIMARY KEY,
    provider    TEXT NOT NULL UNIQUE
);

-- Clustered by time, because reads select a period. A feed in the order of time appends.
CREATE TABLE transactions (
    executed_at INTEGER NOT NULL,
    source_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    gpu_id      INTEGER NOT NULL,
    region_id   INTEGER NOT NULL,
    provider_id INTEGER NOT NULL,
    price_nanos INTEGER NOT NULL,
    gpus        INTEGER NOT NULL,
    hour_micros INTEGER NOT NULL,
    verified    INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (executed_at, source_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX transactions_by_id ON transactions (source_id, id);

-- Published values. A publication is one version. Points never change; a later revision supersedes one.
CREATE TABLE publications (
    version      INTEGER PRIMARY KEY,
    published_at INTEGER NOT NULL,
    methodology  TEXT    NOT NULL
);
CREATE TABLE series (
    series_id INTEGER PRIMARY KEY,
    gpu_id    INTEGER NOT NULL,
    region_id INTEGER NOT NULL,
    grain     TEXT    NOT NULL,
    UNIQUE (gpu_id, region_id, grain)
);
CREATE TABLE points (
    series_id   INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    value_nanos INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    PRIMARY KEY (series_id, at, revision)
) WITHOUT ROWID;
CREATE TABLE publication_series ( -- what a version changed, so that a reader loads only that
    version   INTEGER NOT NULL,
    series_id INTEGER NOT NULL,
    first_at  INTEGER NOT NULL,
    last_at   INTEGER NOT NULL,
    PRIMARY KEY (version, series_id)
) WITHOUT ROWID;
CREATE TABLE coverage ( -- separate spans of time whose slots have been determined, with or without a value
    gpu_id   INTEGER NOT NULL,
    grain    TEXT    NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    PRIMARY KEY (gpu_id, grain, from_ms)
) WITHOUT ROWID;

-- API keys. The text of a key is not stored, only its SHA-256.
CREATE TABLE keys (
    key_id     TEXT PRIMARY KEY,
    hash       BLOB    NOT NULL UNIQUE,
    tier       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) WITHOUT ROWID;
