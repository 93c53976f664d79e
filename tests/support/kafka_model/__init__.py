"""A deterministic, in-memory model of what jobledger relies on of Kafka.

`partitions`, `transactions` and `groups` are the brokers' side, put together in `brokers`; `wire` carries requests,
with its faults; `producer`, `consumer` and `admin` have the surface of aiokafka's clients that the product calls.
`installed` puts them in the place of aiokafka's. `tests/ports/test_kafka_contract.py` holds model and brokers to the
same statements (ADR 0030).
"""
