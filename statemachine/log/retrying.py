"""A dead letter sent once more to whoever decides: what kept it from being decided may be mended by now."""

from datetime import datetime

from statemachine.log.codec import decode_observation
from statemachine.log.inbox import Outbox
from statemachine.log.partitions import Partitions
from statemachine.log.port import DeadLetter
from statemachine.observations import Observation


async def retry(letter: DeadLetter, ledger: Partitions, outbox: Outbox, at: datetime) -> Observation:
    """The letter's observation is on its way again, behind all that was put before, and the letter says so.

    A crash in between leaves it on its way, and the letter silent: to send it again then changes nothing.

    Raises:
        EntryUnreadable: it is no observation; nothing was sent, as it would only come back.
        LogUnavailable: it was not sent, or is not noted; try again.
    """
    seen = decode_observation(letter.observation)
    await outbox.put([seen])
    await ledger.logs[letter.partition or 0].note_retry(letter, at)
    return seen
