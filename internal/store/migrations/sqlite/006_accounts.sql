-- Who signs in, what they were given, and what was done about it. Sessions have a counter of their own, because they come and
-- go far more often than accounts change.
INSERT INTO counters (name, value) VALUES ('accounts', 0), ('sessions', 0);

CREATE TABLE accounts (
    account_id   INTEGER PRIMARY KEY,
    email        TEXT    NOT NULL UNIQUE, -- in lower case
    name         TEXT    NOT NULL,
    password     TEXT,                    -- argon2id, with its salt and parameters; NULL without a password
    oidc_issuer  TEXT,
    oidc_subject TEXT,
    created_at   INTEGER NOT NULL,
    closed_at    INTEGER,
    UNIQUE (oidc_issuer, oidc_subject)
);
CREATE TABLE organizations (
    org_id     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
);

-- The plans an organization has had, one after the other. Another plan ends one row and begins the next.
CREATE TABLE floors (
    org_id   INTEGER NOT NULL,
    plan     TEXT    NOT NULL,
    from_at  INTEGER NOT NULL,
    until_at INTEGER
);
CREATE INDEX floors_by_org ON floors (org_id, from_at);

-- Who has been a member, likewise.
CREATE TABLE members (
    org_id     INTEGER NOT NULL,
    account_id INTEGER NOT NULL,
    role       TEXT    NOT NULL,
    from_at    INTEGER NOT NULL,
    until_at   INTEGER
);
CREATE INDEX members_by_org ON members (org_id, account_id, from_at);

CREATE TABLE grants (
    grant_id   INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL,
    plan       TEXT    NOT NULL,
    starts_at  INTEGER NOT NULL,
    ends_at    INTEGER, -- as it was given
    ended_at   INTEGER  -- when the operator ended it early
);
CREATE INDEX grants_by_account ON grants (account_id, starts_at);

-- The token's text is not here, only its SHA-256.
CREATE TABLE sessions (
    hash       BLOB    PRIMARY KEY,
    account_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

ALTER TABLE keys ADD COLUMN account_id INTEGER;   -- NULL: the operator's own
ALTER TABLE keys ADD COLUMN basis TEXT;           -- what an account's key hangs on: grant or organization
ALTER TABLE keys ADD COLUMN org_id INTEGER;       -- the organization it hangs on
ALTER TABLE keys ADD COLUMN last_used_at INTEGER; -- raises no counter

-- Who did what. Rows are only ever added.
CREATE TABLE audit (
    audit_id INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    actor    TEXT    NOT NULL,
    action   TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    detail   TEXT    NOT NULL -- JSON
);
CREATE INDEX audit_by_subject ON audit (subject, audit_id);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'the audit log is only ever added to'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN SELECT raise(ABORT, 'the audit log is only ever added to'); END;

-- INSERT OR REPLACE would go past the other two.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE audit_id = NEW.audit_id)
    BEGIN SELECT raise(ABORT, 'the audit log is only ever added to'); END;

-- How often a key called a route, by status and day.
CREATE TABLE usage (
    day      INTEGER NOT NULL, -- midnight UTC
    key_id   TEXT    NOT NULL,
    route    TEXT    NOT NULL,
    status   INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (day, key_id, route, status)
) WITHOUT ROWID;
