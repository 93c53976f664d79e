"""The engine over Kafka: partitions of observations shared among processes, each partition decided by one."""
