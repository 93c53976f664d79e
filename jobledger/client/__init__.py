"""What commands ask over HTTP, with nothing but the standard library: one that people type should answer at once.

`connection` is the one HTTP client, for the API server, too; `server` asks a `jobledger serve`; `jobs` is what verbs
need of either, or of a log alone. `public_events` reads what happens to jobs, for programs of others.
"""

from jobledger.client.public_events import Received, events

__all__ = ["Received", "events"]
