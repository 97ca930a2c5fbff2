-- Files that were imported, as the log lists them.
CREATE TABLE imports (
    import        INTEGER PRIMARY KEY, -- 1, 2, 3 …
    at            INTEGER NOT NULL,    -- when its last row was stored
    actor         TEXT    NOT NULL,
    family        TEXT    NOT NULL,
    file          TEXT    NOT NULL,    -- its name, without the folder
    sha256        BLOB    NOT NULL,
    first_receipt INTEGER NOT NULL,    -- of transactions; 0 if there are none
    last_receipt  INTEGER NOT NULL,
    rows          INTEGER NOT NULL,    -- that were new
    known         INTEGER NOT NULL,
    rejected      INTEGER NOT NULL
);
