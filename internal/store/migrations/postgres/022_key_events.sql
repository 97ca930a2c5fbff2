-- As in SQLite's 022_key_events.sql.
CREATE TABLE key_events (
    event BIGINT PRIMARY KEY,
    text  TEXT NOT NULL COLLATE "C"
);
