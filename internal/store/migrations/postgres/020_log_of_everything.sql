-- As in SQLite's 020_log_of_everything.sql.
CREATE INDEX conflicts_by_receipt ON conflicts (received_at);
CREATE INDEX utilization_by_receipt ON utilization (received_at);
