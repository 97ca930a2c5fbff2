-- The log also lists what is received, and finds it by the time of its receipt.
CREATE INDEX conflicts_by_receipt ON conflicts (received_at);
CREATE INDEX utilization_by_receipt ON utilization (received_at);
