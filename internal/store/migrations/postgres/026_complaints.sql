-- As in SQLite's 026_complaints.sql.
CREATE TABLE complaint_events (
    event     BIGINT PRIMARY KEY,
    complaint BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    actor     TEXT   NOT NULL COLLATE "C",
    action    TEXT   NOT NULL COLLATE "C",
    sender    TEXT   NOT NULL COLLATE "C",
    text      TEXT   NOT NULL COLLATE "C"
);
