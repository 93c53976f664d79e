-- Public events as a stream of ksqlDB, and the phase of every job as a table.
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM job_events (
  uid STRING KEY,
  event_type BYTES HEADER('ce_type'),
  job STRUCT<`namespace` STRING, `name` STRING, `kind` STRING>,
  phase STRUCT<`from` STRING, `to` STRING>
) WITH (KAFKA_TOPIC = 'jobledger.cloudevents', VALUE_FORMAT = 'JSON');

CREATE TABLE job_phases AS
  SELECT uid,
         LATEST_BY_OFFSET(job->`name`) AS name,
         LATEST_BY_OFFSET(phase->`to`) AS phase
  FROM job_events
  WHERE phase IS NOT NULL
  GROUP BY uid
  EMIT CHANGES;
