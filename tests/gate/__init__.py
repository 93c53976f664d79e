"""The gate: pytest in phases, repeats of what failed, and a verdict that does not depend on chance.

`python -m tests.gate run PHASE …` runs one phase and leaves what it measured in `.ci/out/`; `flaky` compares the kept
reports with `tests/flaky.md`; `count` compares tests and assertions with another revision. `.ci/run` and the Makefile
call these; CONTRIBUTING says when.
"""
