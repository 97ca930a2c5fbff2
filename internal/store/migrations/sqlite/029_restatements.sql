-- Late rows of families that count from an instant on.
CREATE TABLE restatements (
    restatement INTEGER PRIMARY KEY, -- 1, 2, 3 …
    at          INTEGER NOT NULL,
    family      TEXT    NOT NULL,
    from_at     INTEGER NOT NULL,    -- what the rows are about: from here
    to_at       INTEGER NOT NULL,    -- to before here
    reason      TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    checksum    INTEGER NOT NULL
);
INSERT INTO counters (name, value) VALUES ('restatements', 0);
