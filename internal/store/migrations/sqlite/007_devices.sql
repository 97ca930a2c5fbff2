-- Browsers that have signed in to an account. Guesses from elsewhere do not lock them out.
INSERT INTO counters (name, value) VALUES ('devices', 0);

-- The text of a token is not stored, only its SHA-256. A browser has one token for all accounts it has signed in to.
CREATE TABLE devices (
    hash       BLOB    NOT NULL,
    account_id INTEGER NOT NULL,
    used_at    INTEGER NOT NULL, -- when it last signed in, give or take a month
    PRIMARY KEY (hash, account_id)
) WITHOUT ROWID;
CREATE INDEX devices_by_account ON devices (account_id, used_at);
