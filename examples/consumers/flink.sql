-- Public events as a table of Flink SQL, and how often each job was restarted.
-- The type of an event is a header, as in all of binary mode; fields that a type does not have are NULL.
CREATE TABLE job_events (
  headers MAP<STRING NOT NULL, BYTES> METADATA FROM 'headers' VIRTUAL,
  event_type AS DECODE(headers['ce_type'], 'UTF-8'),
  recorded_at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  uid STRING,
  job ROW<`namespace` STRING, `name` STRING, `kind` STRING>,
  entry ROW<`seq` BIGINT, `index` INT>,
  phase ROW<`from` STRING, `to` STRING>,
  WATERMARK FOR recorded_at AS recorded_at - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'jobledger.cloudevents',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'raw',
  'key.fields' = 'uid',
  'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY'
);

SELECT job.`namespace`, job.`name`, uid, COUNT(*) AS restarts
FROM job_events
WHERE event_type = 'dev.jobledger.replica.restart_scheduled.v1'
GROUP BY job.`namespace`, job.`name`, uid;
