-- As in SQLite's 032_packed_points.sql.
CREATE TABLE packed_points (
    version  BIGINT NOT NULL,
    part     BIGINT NOT NULL,
    points   BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    body     BYTEA  NOT NULL,
    PRIMARY KEY (version, part)
);
ALTER TABLE packed_points ALTER COLUMN body SET STORAGE EXTERNAL; -- packed numbers hardly compress
