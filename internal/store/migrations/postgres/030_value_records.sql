-- As in SQLite's 030_value_records.sql.
CREATE TABLE value_records (
    value_record BIGINT PRIMARY KEY,
    index_name   TEXT   NOT NULL COLLATE "C",
    series       TEXT   NOT NULL COLLATE "C",
    day          BIGINT NOT NULL,
    revision     BIGINT NOT NULL,
    numbers      TEXT   NOT NULL COLLATE "C",
    methodology  TEXT   NOT NULL COLLATE "C",
    known_at     BIGINT NOT NULL,
    inputs       BYTEA  NOT NULL,
    hash         BYTEA  NOT NULL,
    UNIQUE (index_name, series, day, revision)
);
INSERT INTO counters (name, value) VALUES ('value_records', 0), ('values_known_at', 0);
