-- As in SQLite's 029_restatements.sql.
CREATE TABLE restatements (
    restatement BIGINT PRIMARY KEY,
    at          BIGINT NOT NULL,
    family      TEXT   NOT NULL COLLATE "C",
    from_at     BIGINT NOT NULL,
    to_at       BIGINT NOT NULL,
    reason      TEXT   NOT NULL COLLATE "C",
    actor       TEXT   NOT NULL COLLATE "C",
    checksum    BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('restatements', 0);
