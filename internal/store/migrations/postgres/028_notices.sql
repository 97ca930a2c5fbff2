-- As in SQLite's 028_notices.sql.
CREATE TABLE notices (
    notice   BIGINT PRIMARY KEY,
    at       BIGINT NOT NULL,
    kind     TEXT   NOT NULL COLLATE "C",
    gpu_name TEXT   NOT NULL COLLATE "C",
    region   TEXT   NOT NULL COLLATE "C",
    about    BIGINT NOT NULL,
    text     TEXT   NOT NULL COLLATE "C",
    actor    TEXT   NOT NULL COLLATE "C",
    approver TEXT   NOT NULL COLLATE "C",
    checksum BIGINT NOT NULL
);
CREATE INDEX notices_by_kind ON notices (kind);
INSERT INTO counters (name, value) VALUES ('notices', 0);
