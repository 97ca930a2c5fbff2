-- Questions and complaints about the index, and the answers to them.
CREATE TABLE complaint_events (
    event     INTEGER PRIMARY KEY, -- 1, 2, 3 …
    complaint INTEGER NOT NULL,    -- the event with which it was received
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    action    TEXT    NOT NULL,    -- receive or answer
    sender    TEXT    NOT NULL,    -- who complains; empty in an answer
    text      TEXT    NOT NULL
);
