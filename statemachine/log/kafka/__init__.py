"""The log in Kafka: topics of the same number of partitions, each partition a log of its own."""
