-- As in SQLite's 007_devices.sql.
INSERT INTO counters (name, value) VALUES ('devices', 0);

CREATE TABLE devices (
    hash       BYTEA  NOT NULL,
    account_id BIGINT NOT NULL,
    used_at    BIGINT NOT NULL,
    PRIMARY KEY (hash, account_id)
);
CREATE INDEX devices_by_account ON devices (account_id, used_at);
