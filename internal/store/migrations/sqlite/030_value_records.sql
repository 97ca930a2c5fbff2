-- Records of the values of other families that are final.
CREATE TABLE value_records (
    value_record INTEGER PRIMARY KEY, -- 1, 2, 3 …
    index_name   TEXT    NOT NULL,
    series       TEXT    NOT NULL,
    day          INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    numbers      TEXT    NOT NULL,    -- a JSON object
    methodology  TEXT    NOT NULL,
    known_at     INTEGER NOT NULL,
    inputs       BLOB    NOT NULL,
    hash         BLOB    NOT NULL,
    UNIQUE (index_name, series, day, revision)
);
INSERT INTO counters (name, value) VALUES ('value_records', 0), ('values_known_at', 0);
