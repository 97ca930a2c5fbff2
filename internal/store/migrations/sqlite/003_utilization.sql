-- How much of the tracked capacity was rented, as sources reported it. Clustered by line and time, the order
-- in which it is computed and read.
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

-- The received_at of the newest reading, not a count of changes: a reader continues from the value it read last.
INSERT INTO counters (name, value) VALUES ('utilization', 0);
