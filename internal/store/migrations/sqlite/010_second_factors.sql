-- Second factors of accounts: an authenticator app, passkeys, and recovery codes for when both are lost.
CREATE TABLE totp (
    account_id INTEGER PRIMARY KEY,
    secret     BLOB    NOT NULL, -- sealed with the server's secret key, which is not in the database
    last_step  INTEGER NOT NULL, -- of the last code that was used: neither it nor an earlier one works again
    created_at INTEGER NOT NULL
);
CREATE TABLE passkeys (
    passkey_id      TEXT    PRIMARY KEY, -- public: not the id that the authenticator chose
    account_id      INTEGER NOT NULL,
    name            TEXT    NOT NULL,
    user_handle     BLOB    NOT NULL,    -- random, the same for all passkeys of an account
    credential_id   BLOB    NOT NULL UNIQUE,
    public_key      BLOB    NOT NULL,    -- COSE
    sign_count      INTEGER NOT NULL,    -- 0 if the authenticator does not count
    backup_eligible INTEGER NOT NULL,
    transports      TEXT    NOT NULL,    -- how browsers reach the authenticator, separated by spaces
    created_at      INTEGER NOT NULL,
    last_used_at    INTEGER
) WITHOUT ROWID;
CREATE INDEX passkeys_by_account ON passkeys (account_id, created_at);

-- The text of a recovery code is not stored, only its SHA-256.
CREATE TABLE recovery_codes (
    account_id INTEGER NOT NULL,
    hash       BLOB    NOT NULL,
    used_at    INTEGER, -- NULL: it can still be used
    PRIMARY KEY (account_id, hash)
) WITHOUT ROWID;

-- Tickets that have been used and would otherwise still be valid. A ticket is sealed and kept by the browser.
CREATE TABLE used_tickets (
    ticket_id  BLOB    PRIMARY KEY,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
