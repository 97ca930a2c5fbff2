-- Every published value now has a record that proves it, and a receipt numbers everything in the order of arrival. Values
-- published before have no proof, so they are removed. Their transactions stay, and assay publish publishes the values
-- again.
INSERT INTO counters VALUES ('receipt', 0), ('realtime', 0), ('methodology', 0), ('manifest', 0);

-- Batches of transactions, and events about one transaction, in the order of arrival. The number of a receipt defines what
-- was known at that point.
CREATE TABLE receipts (
    receipt     INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL,
    rows        INTEGER NOT NULL, -- transactions in the batch
    checksum    INTEGER NOT NULL  -- of the row; see ledger.go
);

-- All existing transactions belong to the first receipt, which the program adds.
ALTER TABLE transactions RENAME TO transactions_1;
DROP INDEX transactions_by_id;
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
    verified    INTEGER NOT NULL, -- as received; verifications has later changes
    receipt     INTEGER NOT NULL,
    checksum    INTEGER NOT NULL,
    PRIMARY KEY (executed_at, source_id, id)
) WITHOUT ROWID;
INSERT INTO transactions SELECT executed_at, source_id, id, gpu_id, region_id, provider_id, price_nanos, gpus, hour_micros, verified, 1, 0
    FROM transactions_1;
DROP TABLE transactions_1;
CREATE TABLE transaction_ids (
    hash        INTEGER PRIMARY KEY,
    executed_at INTEGER NOT NULL,
    receipt     INTEGER NOT NULL
);

-- Later events that change whether a transaction counts. The newest one applies.
CREATE TABLE verifications (
    event       INTEGER PRIMARY KEY,
    executed_at INTEGER NOT NULL,
    source_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    verified    INTEGER NOT NULL,
    actor       TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    receipt     INTEGER NOT NULL,
    checksum    INTEGER NOT NULL
);
CREATE INDEX verifications_by_time ON verifications (executed_at);

-- Rows with a known id but other content. They are set aside and never merged.
CREATE TABLE conflicts (
    source_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    checksum    INTEGER NOT NULL,
    executed_at INTEGER NOT NULL,
    gpu_id      INTEGER NOT NULL,
    region_id   INTEGER NOT NULL,
    provider_id INTEGER NOT NULL,
    price_nanos INTEGER NOT NULL,
    gpus        INTEGER NOT NULL,
    hour_micros INTEGER NOT NULL,
    verified    INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (source_id, id, checksum)
) WITHOUT ROWID;

-- Arrivals about time that had already been determined. They change nothing until that time is restated.
CREATE TABLE late (
    receipt     INTEGER NOT NULL,
    executed_at INTEGER NOT NULL,
    source_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    gpu_id      INTEGER NOT NULL,
    change      TEXT    NOT NULL, -- arrived, verified or withdrawn
    PRIMARY KEY (receipt, executed_at, source_id, id)
) WITHOUT ROWID;

CREATE TABLE methodologies (
    version      TEXT    PRIMARY KEY,
    effective_at INTEGER NOT NULL UNIQUE,
    adopted_at   INTEGER NOT NULL,
    text         TEXT    NOT NULL,
    checksum     INTEGER NOT NULL
) WITHOUT ROWID;

DROP TABLE publications;
CREATE TABLE publications (
    version      INTEGER PRIMARY KEY,
    published_at INTEGER NOT NULL,
    methodology  TEXT    NOT NULL,
    receipt      INTEGER NOT NULL, -- everything received up to here was known
    reason       TEXT,             -- of a restatement
    actor        TEXT,
    checksum     INTEGER NOT NULL  -- of the row and its covers
);
CREATE TABLE publication_covers ( -- the time whose slots a version determined, with or without a value
    version INTEGER NOT NULL,
    gpu_id  INTEGER NOT NULL,
    grain   TEXT    NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    PRIMARY KEY (version, gpu_id, grain, from_ms)
) WITHOUT ROWID;
DROP TABLE series;
CREATE TABLE series (
    series_id INTEGER PRIMARY KEY,
    gpu_id    INTEGER NOT NULL,
    region_id INTEGER NOT NULL,
    grain     TEXT    NOT NULL,
    records   INTEGER NOT NULL DEFAULT 0, -- length of the chain
    head      BLOB,                       -- hash of its last record
    UNIQUE (gpu_id, region_id, grain)
);
DROP TABLE points;
CREATE TABLE points (
    series_id   INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    value_nanos INTEGER,          -- NULL: a restatement withdrew the value
    version     INTEGER NOT NULL,
    PRIMARY KEY (series_id, at, revision)
) WITHOUT ROWID;
CREATE TABLE records ( -- how the value of a point was computed
    series_id INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL, -- position in the chain of the series, from 1
    body      BLOB    NOT NULL, -- see records.go for its encoding
    hash      BLOB    NOT NULL,
    PRIMARY KEY (series_id, at, revision)
) WITHOUT ROWID;
DELETE FROM publication_series;
DELETE FROM coverage;
UPDATE counters SET value = 0 WHERE name = 'publication';
DELETE FROM settings WHERE name = 'demo_fed'; -- the demo publishes its history again too

CREATE TABLE unsigned_days ( -- days whose records have changed since their manifest was signed
    day INTEGER PRIMARY KEY
);
CREATE TABLE manifests (
    sequence   INTEGER PRIMARY KEY,
    day        INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    records    INTEGER NOT NULL,
    digest     BLOB    NOT NULL,
    signed_at  INTEGER NOT NULL,
    previous   BLOB    NOT NULL,
    hash       BLOB    NOT NULL,
    public_key BLOB    NOT NULL,
    signature  BLOB    NOT NULL,
    UNIQUE (day, revision)
);

CREATE TABLE realtime ( -- the minutes of the last two days
    at           INTEGER NOT NULL,
    gpu_id       INTEGER NOT NULL,
    region_id    INTEGER NOT NULL,
    value_nanos  INTEGER NOT NULL,
    transactions INTEGER NOT NULL,
    hour_micros  INTEGER NOT NULL,
    PRIMARY KEY (at, gpu_id, region_id)
) WITHOUT ROWID;
