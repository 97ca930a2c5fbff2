-- As in SQLite's 024_anchors.sql.
CREATE TABLE anchors (
    size       BIGINT PRIMARY KEY,
    stamped_at BIGINT NOT NULL,
    authority  TEXT   NOT NULL COLLATE "C",
    token      BYTEA  NOT NULL,
    checksum   BIGINT NOT NULL
);
