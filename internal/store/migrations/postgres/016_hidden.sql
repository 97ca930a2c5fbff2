-- As in SQLite's 016_hidden.sql.
CREATE TABLE hidden (
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, name)
);
