-- As in SQLite's 014_expected_sources.sql.
CREATE TABLE expected_sources (
    source         TEXT COLLATE "C" PRIMARY KEY,
    complete_until BIGINT NOT NULL
);
