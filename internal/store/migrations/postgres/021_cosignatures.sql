-- As in SQLite's 021_cosignatures.sql.
CREATE TABLE cosignatures (
    size        BIGINT NOT NULL,
    witness     TEXT   NOT NULL COLLATE "C",
    received_at BIGINT NOT NULL,
    line        TEXT   NOT NULL COLLATE "C",
    PRIMARY KEY (size, witness)
);
