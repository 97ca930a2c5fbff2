-- Sources that deliver all the time. An hour without a transaction of one of them is held, not published, unless the
-- source has declared that it is complete.
CREATE TABLE expected_sources (
    source         TEXT PRIMARY KEY,
    complete_until INTEGER NOT NULL -- everything executed before is delivered; 0 if nothing was declared
) WITHOUT ROWID;
