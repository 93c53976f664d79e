"""`python -m jobledger`."""

from jobledger.cli import main

if __name__ == "__main__":
    main()
