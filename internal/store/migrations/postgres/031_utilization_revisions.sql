-- Sources correct their readings: the newest revision counts.
ALTER TABLE utilization ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
ALTER TABLE utilization DROP CONSTRAINT utilization_pkey;
ALTER TABLE utilization ADD PRIMARY KEY (gpu_id, region_id, recorded_at, source_id, revision);
