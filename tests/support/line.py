"""A line to an API server that can be cut, or whose other end hangs up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import yaml


class Line:
    """The way to the API server of `kubeconfig`, in the event loop of the test."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._config = yaml.safe_load(kubeconfig.read_text())
        self._server = urlsplit(self._config["clusters"][0]["cluster"]["server"])
        self._folder = folder
        self._ways: set[asyncio.Task[None]] = set()
        self.open = asyncio.Event()
        """While it is not set connections stay as they are, and nothing comes through."""
        self.open.set()
        self.hangs_up = False
        """New connections end at once."""

    @asynccontextmanager
    async def kubeconfig(self) -> AsyncIterator[Path]:
        """The kubeconfig with which the line is used; no connection is left afterwards."""
        server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self._config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        path = self._folder / "line.kubeconfig"
        path.write_text(yaml.safe_dump(self._config))
        async with server:
            yield path
            for way in self._ways:
                way.cancel()
            await asyncio.gather(*self._ways, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.hangs_up:
            writer.close()
            return
        way = asyncio.create_task(self._pass(reader, writer))
        self._ways.add(way)
        way.add_done_callback(self._ways.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        out_reader, out_writer = await asyncio.open_connection(self._server.hostname, self._server.port)
        try:
            await asyncio.gather(self._copy(reader, out_writer), self._copy(out_reader, writer))
        except OSError:
            return
        finally:
            for stream in (writer, out_writer):
                stream.close()

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            await self.open.wait()
            sink.write(data)
            await sink.drain()
        sink.close()
