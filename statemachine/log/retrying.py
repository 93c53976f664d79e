"""Sends a dead letter to the engine again: the fault that kept it from being decided may be repaired."""

from datetime import datetime

from statemachine.log.codec import decode_observation
from statemachine.log.inbox import Outbox
from statemachine.log.partitions import Partitions
from statemachine.log.port import DeadLetter
from statemachine.observations import Observation


async def retry(letter: DeadLetter, ledger: Partitions, outbox: Outbox, at: datetime) -> Observation:
    """Puts the letter's observation into the outbox, behind all others, and notes that in the letter.

    After a crash in between the letter has no note: another retry then changes nothing.

    Raises:
        EntryUnreadable: the letter holds no observation; nothing was sent, as it would only come back.
        LogUnavailable: the observation was not sent, or the retry is not noted; try again.
    """
    observation = decode_observation(letter.observation)
    await outbox.put([observation])
    await ledger.logs[letter.partition or 0].note_retry(letter, at)
    return observation
