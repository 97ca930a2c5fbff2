-- As in SQLite's 010_second_factors.sql.
CREATE TABLE totp (
    account_id BIGINT PRIMARY KEY,
    secret     BYTEA  NOT NULL,
    last_step  BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE passkeys (
    passkey_id      TEXT COLLATE "C" PRIMARY KEY,
    account_id      BIGINT NOT NULL,
    name            TEXT COLLATE "C" NOT NULL,
    user_handle     BYTEA  NOT NULL,
    credential_id   BYTEA  NOT NULL UNIQUE,
    public_key      BYTEA  NOT NULL,
    sign_count      BIGINT NOT NULL,
    backup_eligible BIGINT NOT NULL,
    transports      TEXT COLLATE "C" NOT NULL,
    created_at      BIGINT NOT NULL,
    last_used_at    BIGINT
);
CREATE INDEX passkeys_by_account ON passkeys (account_id, created_at);
CREATE TABLE recovery_codes (
    account_id BIGINT NOT NULL,
    hash       BYTEA  NOT NULL,
    used_at    BIGINT,
    PRIMARY KEY (account_id, hash)
);
CREATE TABLE used_tickets (
    ticket_id  BYTEA  PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
