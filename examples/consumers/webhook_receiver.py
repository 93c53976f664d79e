"""A receiver of public events: verifies the signature, and keeps every event once in a SQLite file.

    python examples/consumers/webhook_receiver.py --key hook.key --store events.db --port 9000
    jobledger events publish --to http://127.0.0.1:9000/ --key hook.key

Needs fastapi, uvicorn and standardwebhooks. Delivery is at least once: the id says whether an event came before.
"""

import argparse
import sqlite3
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response
from standardwebhooks import Webhook, WebhookVerificationError


def receiver(key: str, store: sqlite3.Connection) -> FastAPI:
    """An application that takes events at `/`, signed by `key` (`whsec_…`)."""
    app, hook = FastAPI(), Webhook(key)
    with store:
        store.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT, event TEXT)")

    @app.post("/")
    async def take(request: Request) -> Response:
        body = await request.body()
        try:
            event = hook.verify(body, dict(request.headers))
        except WebhookVerificationError:
            return Response(status_code=401)
        row = (event["id"], event["type"], body.decode())
        with store:  # the event is kept before the answer says so
            store.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?)", row)
        return Response(status_code=204)

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Receive public events of jobledger.")
    parser.add_argument("--key", type=Path, required=True, help="file with the key, whsec_…")
    parser.add_argument("--store", default="events.db", help="SQLite file")
    parser.add_argument("--port", type=int, default=9000)
    options = parser.parse_args()
    application = receiver(options.key.read_text().strip(), sqlite3.connect(options.store))
    uvicorn.run(application, host="127.0.0.1", port=options.port)
