-- As in SQLite's 019_log.sql.
INSERT INTO counters VALUES ('log', 0), ('checkpoint', 0);

CREATE TABLE log_tiles (
    level  BIGINT NOT NULL,
    tile   BIGINT NOT NULL,
    hashes BYTEA  NOT NULL,
    PRIMARY KEY (level, tile)
);
CREATE TABLE log_bundles (
    bundle  BIGINT PRIMARY KEY,
    entries BYTEA NOT NULL
);
CREATE TABLE log_tail (
    leaf  BIGINT PRIMARY KEY,
    entry BYTEA NOT NULL
);
CREATE TABLE log_records (
    prefix BIGINT NOT NULL,
    leaf   BIGINT NOT NULL,
    PRIMARY KEY (prefix, leaf)
);
CREATE TABLE log_progress (
    kind   TEXT   COLLATE "C" PRIMARY KEY,
    number BIGINT NOT NULL
);
CREATE TABLE log_methodologies (
    version TEXT COLLATE "C" PRIMARY KEY
);
CREATE TABLE checkpoints (
    size       BIGINT PRIMARY KEY,
    signed_at  BIGINT NOT NULL,
    public_key BYTEA  NOT NULL,
    note       TEXT   COLLATE "C" NOT NULL
);
