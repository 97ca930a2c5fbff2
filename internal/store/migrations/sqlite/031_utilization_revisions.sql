-- Sources correct their readings: the newest revision counts.
CREATE TABLE utilization_revisions (
    recorded_at  INTEGER NOT NULL,
    source_id    INTEGER NOT NULL,
    gpu_id       INTEGER NOT NULL,
    region_id    INTEGER NOT NULL,
    rented_gpus  INTEGER NOT NULL,
    tracked_gpus INTEGER NOT NULL,
    received_at  INTEGER NOT NULL,
    revision     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (gpu_id, region_id, recorded_at, source_id, revision)
) WITHOUT ROWID;

INSERT INTO utilization_revisions (recorded_at, source_id, gpu_id, region_id, rented_gpus, tracked_gpus, received_at)
SELECT recorded_at, source_id, gpu_id, region_id, rented_gpus, tracked_gpus, received_at FROM utilization;

DROP TABLE utilization;
ALTER TABLE utilization_revisions RENAME TO utilization;
CREATE INDEX utilization_by_receipt ON utilization (received_at);
