"""`jobledger` as a process that kills itself at a named point of publishing to Kafka.

`python -m tests.integration.kafka.killed_command POINT COUNT WORD…`: the command of these words, gone by SIGKILL when
it comes to POINT for the COUNT-th time; points are those of `publisher_process`.
"""

import sys

from jobledger.cli import main
from tests.integration.kafka.publisher_process import armed

if __name__ == "__main__":
    armed(sys.argv[1], int(sys.argv[2]))
    sys.argv = ["jobledger", *sys.argv[3:]]
    main()
