-- As in SQLite's 015_corrections.sql.
CREATE TABLE corrections (
    correction  BIGINT PRIMARY KEY,
    hash        BIGINT NOT NULL,
    segment     BIGINT NOT NULL,
    executed_at BIGINT NOT NULL,
    source_id   BIGINT NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    actor       TEXT COLLATE "C" NOT NULL,
    reason      TEXT COLLATE "C" NOT NULL,
    receipt     BIGINT NOT NULL,
    checksum    BIGINT NOT NULL
);
CREATE INDEX corrections_by_time ON corrections (executed_at);

ALTER TABLE late DROP CONSTRAINT late_pkey;
ALTER TABLE late ADD PRIMARY KEY (receipt, executed_at, source_id, id, gpu_id);
