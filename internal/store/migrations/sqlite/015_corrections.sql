-- Transactions that were replaced by others of the same source and id. The table of ids lists the one that replaces; its
-- entry of the one that was replaced is here.
CREATE TABLE corrections (
    correction  INTEGER PRIMARY KEY, -- from 1 on, without gaps
    hash        INTEGER NOT NULL,    -- as in transaction_ids
    segment     INTEGER NOT NULL,    -- likewise
    executed_at INTEGER NOT NULL,    -- of the replaced transaction
    source_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    receipt     INTEGER NOT NULL,    -- of the transaction that replaces it
    checksum    INTEGER NOT NULL
);
CREATE INDEX corrections_by_time ON corrections (executed_at);

-- A correction of the GPU model alone is late for both models.
CREATE TABLE late_by_gpu (
    receipt     INTEGER NOT NULL,
    executed_at INTEGER NOT NULL,
    source_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    gpu_id      INTEGER NOT NULL,
    change      TEXT    NOT NULL, -- arrived, verified, withdrawn or corrected
    PRIMARY KEY (receipt, executed_at, source_id, id, gpu_id)
) WITHOUT ROWID;
INSERT INTO late_by_gpu SELECT receipt, executed_at, source_id, id, gpu_id, change FROM late;
DROP TABLE late;
ALTER TABLE late_by_gpu RENAME TO late;
