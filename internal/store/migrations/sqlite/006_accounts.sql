-- Accounts, their access, and the log of changes to both. Sessions have a separate counter, because they change far more
-- often than accounts do.
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

-- The history of an organization's plans. A new plan ends one row and begins the next.
CREATE TABLE floors (
    org_id   INTEGER NOT NULL,
    plan     TEXT    NOT NULL,
    from_at  INTEGER NOT NULL,
    until_at INTEGER
);
CREATE INDEX floors_by_org ON floors (org_id, from_at);

-- The history of memberships, in the same form.
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
    ends_at    INTEGER, -- as planned when it was granted
    ended_at   INTEGER  -- when the operator ended it early
);
CREATE INDEX grants_by_account ON grants (account_id, starts_at);

-- The text of a token is not stored, only its SHA-256.
CREATE TABLE sessions (
    hash       BLOB    PRIMARY KEY,
    account_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

ALTER TABLE keys ADD COLUMN account_id INTEGER;   -- NULL: a key of the operator
ALTER TABLE keys ADD COLUMN basis TEXT;           -- what an account's key is based on: grant or organization
ALTER TABLE keys ADD COLUMN org_id INTEGER;       -- the organization it is based on
ALTER TABLE keys ADD COLUMN last_used_at INTEGER; -- raises no counter

-- Who did what. Rows are added and never changed.
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

-- INSERT OR REPLACE would bypass the other two triggers.
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
