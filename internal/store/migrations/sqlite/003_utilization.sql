-- How much of the tracked capacity was rented, as sources reported it. Clustered by line and time, because that is how it
-- is computed and read.
CREATE TABLE utilization (
    recorded_at  INTEGER NOT NULL,
    source_id    INTEGER NOT NULL,
    gpu_id       INTEGER NOT NULL,
    region_id    INTEGER NOT NULL,
    rented_gpus  INTEGER NOT NULL,
    tracked_gpus INTEGER NOT NULL,
    received_at  INTEGER NOT NULL,
    PRIMARY KEY (gpu_id, region_id, recorded_at, source_id)
) WITHOUT ROWID;

-- Not a count of changes but the received_at of the newest reading: a reader goes on from the value it saw.
INSERT INTO counters (name, value) VALUES ('utilization', 0);
