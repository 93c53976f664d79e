-- Which causes made replicas restart, in which jobs, and on how many nodes. Over the file of
--     jobledger events export --format parquet --to events.parquet
-- as   duckdb < restarts.sql   in the directory of that file.
SELECT
    namespace,
    name AS job,
    cause_class AS cause,
    cause_exit_code AS exit_code,
    count(*) AS restarts,
    count(DISTINCT pod_node) AS nodes,
    strftime(max("time") AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS last_one
FROM read_parquet('events.parquet')
WHERE type = 'dev.jobledger.replica.restart_scheduled.v1'
GROUP BY ALL
ORDER BY restarts DESC, namespace, job;
