"""Engines on the partitioned log, on simulated time, over the model of Kafka's contract."""
