-- Timestamps of checkpoints, by an authority as in RFC 3161. A program of an earlier release gets none.
CREATE TABLE anchors (
    size       INTEGER PRIMARY KEY, -- of the checkpoint
    stamped_at INTEGER NOT NULL,    -- as the token says
    authority  TEXT    NOT NULL,    -- its URL
    token      BLOB    NOT NULL,    -- DER
    checksum   INTEGER NOT NULL
);
