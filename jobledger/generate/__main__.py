"""`python -m jobledger.generate`."""

from jobledger.generate.files import main

raise SystemExit(main())
