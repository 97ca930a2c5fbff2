-- Which key an Idempotency-Key has made: a repeated request makes no second one.
CREATE TABLE key_requests (
    account_id INTEGER NOT NULL,
    request    TEXT    NOT NULL, -- a hash of the header
    key_id     TEXT    NOT NULL,
    PRIMARY KEY (account_id, request)
) WITHOUT ROWID;
