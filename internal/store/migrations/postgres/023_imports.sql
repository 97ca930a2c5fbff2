-- As in SQLite's 023_imports.sql.
CREATE TABLE imports (
    import        BIGINT PRIMARY KEY,
    at            BIGINT NOT NULL,
    actor         TEXT   NOT NULL COLLATE "C",
    family        TEXT   NOT NULL COLLATE "C",
    file          TEXT   NOT NULL COLLATE "C",
    sha256        BYTEA  NOT NULL,
    first_receipt BIGINT NOT NULL,
    last_receipt  BIGINT NOT NULL,
    rows          BIGINT NOT NULL,
    known         BIGINT NOT NULL,
    rejected      BIGINT NOT NULL
);
