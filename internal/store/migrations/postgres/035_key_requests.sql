-- As in SQLite's 035_key_requests.sql.
CREATE TABLE key_requests (
    account_id BIGINT NOT NULL,
    request    TEXT COLLATE "C" NOT NULL,
    key_id     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, request)
);
