-- All points again, some thousand in a row, for a server that starts. See packed.go for the encoding.
CREATE TABLE packed_points (
    version  INTEGER NOT NULL, -- points of the versions after that of the row before, up to this one
    part     INTEGER NOT NULL, -- 0, 1, 2 …
    points   INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    body     BLOB    NOT NULL,
    PRIMARY KEY (version, part)
);
