"""`python -m tests.forking FD`: the fork server at the other end of that socket."""

import sys

from tests.forking.server import main

if __name__ == "__main__":
    main(int(sys.argv[1]))
