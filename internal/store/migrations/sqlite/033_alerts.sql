-- Alerts of accounts, where they are sent, and the messages to send.
CREATE TABLE endpoints (
    endpoint_id     TEXT    PRIMARY KEY, -- public
    account_id      INTEGER NOT NULL,
    kind            TEXT    NOT NULL,    -- webhook, or email: the account's address
    name            TEXT    NOT NULL,
    url             TEXT    NOT NULL,    -- of a webhook
    secret          BLOB    NOT NULL,    -- sealed with the server's secret key, which is not in the database
    old_secret      BLOB    NOT NULL,    -- likewise: the one before the last rotation
    old_until       INTEGER NOT NULL,    -- until when that one signs too
    created_at      INTEGER NOT NULL,
    disabled_at     INTEGER NOT NULL,    -- 0: enabled
    disabled_reason TEXT    NOT NULL
) WITHOUT ROWID;
CREATE INDEX endpoints_by_account ON endpoints (account_id, created_at);

CREATE TABLE alerts (
    alert_id    TEXT    PRIMARY KEY,   -- public
    account_id  INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    rule        TEXT    NOT NULL,      -- a JSON object
    endpoint_id TEXT    NOT NULL,      -- the webhook it is sent to; empty: none
    email       INTEGER NOT NULL,
    paused      INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    since       INTEGER NOT NULL,      -- when it was created, changed or resumed: it watches from then on
    changed     INTEGER NOT NULL,      -- how often that was
    armed       INTEGER NOT NULL,      -- whether it fires when its condition holds
    fired_at    INTEGER NOT NULL       -- 0: never
) WITHOUT ROWID;
CREATE INDEX alerts_by_account ON alerts (account_id, created_at);

-- An endpoint gets its messages in the order of (later, delivery_id).
CREATE TABLE deliveries (
    delivery_id   INTEGER PRIMARY KEY,
    endpoint_id   TEXT    NOT NULL,
    later         INTEGER NOT NULL, -- 0 for a test, which goes first, 1 for others
    message_id    TEXT    NOT NULL, -- the same in every attempt and replay
    type          TEXT    NOT NULL,
    payload       BLOB    NOT NULL,
    replay        INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    first_at      INTEGER NOT NULL, -- the first attempt; 0: none yet
    next_at       INTEGER NOT NULL, -- no attempt before then
    response_code INTEGER NOT NULL, -- of the last attempt; 0: none
    error         TEXT    NOT NULL,
    delivered     INTEGER NOT NULL,
    done_at       INTEGER NOT NULL  -- 0: pending
);
CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint_id, delivery_id);
CREATE INDEX deliveries_pending ON deliveries (endpoint_id, later, delivery_id) WHERE done_at = 0;

-- Who delivers. A holder raises beat; another node that has seen the same beat for long enough takes over and raises fence.
CREATE TABLE delivery_lease (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    fence INTEGER NOT NULL,
    beat  INTEGER NOT NULL,
    held  INTEGER NOT NULL
);
INSERT INTO delivery_lease (one, fence, beat, held) VALUES (1, 0, 0, 0);

-- Up to where alerts have been evaluated: nothing published before the migration fires one.
INSERT INTO counters (name, value) SELECT 'alerted_publication', value FROM counters WHERE name = 'publication';
INSERT INTO counters (name, value) SELECT 'alerted_notice', value FROM counters WHERE name = 'notices';
