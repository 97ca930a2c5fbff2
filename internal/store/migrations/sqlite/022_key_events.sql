-- Changes of the key that signs, as the log lists them. A program of an earlier release signs without them.
CREATE TABLE key_events (
    event INTEGER PRIMARY KEY, -- 1, 2, 3 …
    text  TEXT NOT NULL
);
