-- From here on every published value has a record that proves it, and everything received has its place in one order.
-- Values published before that have no proof: they are taken back, their transactions stay, and assay publish publishes
-- them anew.
INSERT INTO counters VALUES ('receipt', 0), ('realtime', 0), ('methodology', 0), ('manifest', 0);

-- What was received, in order: a batch of transactions, or an event about one. Who knows a receipt's number knows what
-- was known then.
CREATE TABLE receipts (
    receipt     INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL,
    rows        INTEGER NOT NULL, -- transactions that came with it
    checksum    INTEGER NOT NULL  -- of the row, as every row of the ledger has one; see ledger.go
);

-- All that was there came with the first receipt, which the program enters.
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
    verified    INTEGER NOT NULL, -- as received; verifications has what came later
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

-- Later words on whether a transaction counts. The newest one holds.
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

-- Rows under a known id with other content: kept aside, never merged.
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

-- What was received about time that had been determined before: it changes nothing until that time is restated.
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
    receipt      INTEGER NOT NULL, -- what was received up to here was known
    reason       TEXT,             -- of a restatement
    actor        TEXT,
    checksum     INTEGER NOT NULL  -- of the row and its covers
);
CREATE TABLE publication_covers ( -- the time whose slots a version determined, with a value or without
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
    value_nanos INTEGER,          -- null: the value was taken back
    version     INTEGER NOT NULL,
    PRIMARY KEY (series_id, at, revision)
) WITHOUT ROWID;
CREATE TABLE records ( -- beside its point: how the value came to be
    series_id INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL, -- place in the chain of the series, from 1
    body      BLOB    NOT NULL, -- read whole or not at all; see the code for its form
    hash      BLOB    NOT NULL,
    PRIMARY KEY (series_id, at, revision)
) WITHOUT ROWID;
DELETE FROM publication_series;
DELETE FROM coverage;
UPDATE counters SET value = 0 WHERE name = 'publication';
DELETE FROM settings WHERE name = 'demo_fed'; -- the demo, too, publishes its history anew

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

CREATE TABLE realtime ( -- the last two days of minutes
    at           INTEGER NOT NULL,
    gpu_id       INTEGER NOT NULL,
    region_id    INTEGER NOT NULL,
    value_nanos  INTEGER NOT NULL,
    transactions INTEGER NOT NULL,
    hour_micros  INTEGER NOT NULL,
    PRIMARY KEY (at, gpu_id, region_id)
) WITHOUT ROWID;
