"""Which partition a job is in: the one that every Kafka client chooses for the same key.

Source: Kafka's default partitioner, murmur2 over the key's bytes; aiokafka carries an implementation of it.
"""

from aiokafka.partitioner import murmur2

from statemachine.ids import JobUid


def partition_of(job: JobUid, partitions: int) -> int:
    """The number of the job's partition, out of so many (≥ 1)."""
    return partition_of_key(job.encode(), partitions)


def partition_of_key(key: bytes, partitions: int) -> int:
    """The number of the partition for records of this key, out of so many (≥ 1)."""
    return (int(murmur2(key)) & 0x7FFFFFFF) % partitions
