"""Programs of jobledger started by a fork instead of an interpreter that imports everything again.

A *fork server* is a process that has imported jobledger and then forks for each request; the child becomes the
program. A test process starts one when it first needs one (`client`), sends the standard streams of each program over
a socket (`request`), and waits for the exit code on a connection of that program alone. The server (`server`) ends,
and kills what it has forked, when that socket is closed, however its owner ended.

A program that was forked differs from one that was started in four ways: its command line in /proc is the server's,
its parent is the server, its hash seed is that of its siblings, and more modules are imported than it needs.
"""

from tests.forking.client import Forked, ForkServer

__all__ = ["ForkServer", "Forked"]
