"""Mutants of the public event contract: what leaves, under which name, and without what."""

from typing import Final

from tests.mutants.model import Mutant

_ON_EVENTS: Final = ("tests/unit/contract/test_stories.py", "tests/unit/gate/test_contract.py")
_ON_HELD: Final = (
    "tests/unit/contract/test_recorded.py::test_an_entry_that_cannot_be_read_holds_its_job_alone",
    "tests/unit/contract/test_recorded.py::test_an_entry_whose_cause_is_of_a_newer_release_holds_all_that_follows_it_in_its_job",
)
_ON_TEXTS: Final = ("tests/unit/contract/test_scrub.py",)


def _of(module: str, name: str, old: str, new: str, tests: tuple[str, ...] = _ON_EVENTS) -> Mutant:
    return Mutant(f"contract-{name}", f"projectors.contract.{module}", old, new, tests)


def _docs(name: str, old: str, new: str) -> Mutant:
    return Mutant(f"docs-{name}", "statemachine.docstrings", old, new, ("tests/unit/test_docstrings.py",))


MUTANTS: Final = (
    _docs("inherited-ones-win", "reversed(declared.__mro__)", "declared.__mro__"),
    _docs("keep-their-lines", '" ".join(below.value.value.split())', "below.value.value"),
    _docs("not-of-inner-classes", 'f"{prefix}{inner.name}."', "prefix"),
    _docs("not-of-local-classes", "{inner.name}.<locals>.", "{inner.name}."),
    _docs(
        "not-of-conditional-classes",
        "        elif isinstance(inner, ast.stmt):\n            yield from _classes(inner, prefix)\n",
        "",
    ),
    _of("project", "replicas-stay-private", "return of_replica(page, state, event)", "return None"),
    _of("project", "jobs-stay-private", "return of_job(page, state, event)", "return None"),
    _of("project", "places-begin-at-one", "enumerate(step.moments())", "enumerate(step.moments(), 1)"),
    _of("page", "place-begins-at-one", '/{seq}/{index}"', '/{seq}/{index + 1}"'),
    _of("page", "sequence-without-place", '.{index:04}"', '.0000"'),
    _of("page", "each-event-causes-the-next", "self._first = self._first or id_", "self._first = id_"),
    _of("page", "time-is-when-it-was-recorded", '"time": happened or recorded', '"time": recorded'),
    _of("page", "all-labels-leave", "self.publication.published(self.after.labels)", "self.after.labels"),
    _of(
        "page",
        "texts-leave-as-they-are",
        "safe = scrub.scrubbed(text, self._page.specs)",
        "safe = text",
        _ON_TEXTS,
    ),
    _of("page", "scrubbing-is-not-said", "self.is_scrubbed |= safe != text", "pass", _ON_TEXTS),
    _of("page", "scrubbing-is-always-said", "|= safe != text", "|= True", _ON_TEXTS),
    _of("page", "cuts-are-not-said", "self.truncated |= len(whole) > most", "pass", _ON_TEXTS),
    _of(
        "page",
        "spec-before-is-forgotten",
        "scrub.specs_of(before, after)",
        "scrub.specs_of(after)",
        _ON_TEXTS,
    ),
    _of("publication", "names-leave-where-none-should", 'if self.actors == "none":', "if False:"),
    _of("publication", "every-name-is-verified", "entry.actor_source is ActorSource.VERIFIED", "True"),
    _of(
        "stream",
        "held-job-goes-on",
        "accepted is None or record.job in self.held or",
        "accepted is None or",
        _ON_HELD,
    ),
    _of("of_parts", "no-signal", "code - _SIGNALS_FROM if code", "code if code"),
    _of("of_parts", "new-attempt-is-on-the-old-node", "bool(attempt) and attempt != held.attempt", "False"),
    _of("of_parts", "attempt-of-before", "attempt=attempt or held.attempt", "attempt=held.attempt"),
    _of("of_jobs", "phase-from-where-it-goes", "from_=state.phase.value", "from_=event.phase.value"),
    _of("of_jobs", "counts-of-before", "of_parts.counts(after)", "of_parts.counts(state)"),
    _of("of_jobs", "labels-twice", "if is_own else None", "if True else None"),
    _of("of_jobs", "any-denial-is-the-limit", "and other.exhausted for", "for"),
    _of("of_jobs", "children-are-gangs", "owned.gang and owned.kind", "owned.kind"),
    _of("of_jobs", "bookkeeping-is-a-rejection", "if not event.problems:", "if False:"),
    _of("of_replicas", "denied-is-never-grave", "Severity.ERROR if event.exhausted else None", "None"),
    _of("scrub", "arguments-leave", "(?:args|command|", "(?:command|", _ON_TEXTS),
    _of(
        "scrub",
        "annotation-called-name-leaves",
        ' and bool(tree.keys() & {"value", "valueFrom"})',
        "",
        _ON_TEXTS,
    ),
    _of("scrub", "no-base64", "        yield base64.b64encode(raw).decode()\n", "", _ON_TEXTS),
    _of("scrub", "no-parts", "_PART.findall(value)", "()", _ON_TEXTS),
    _of("scrub", "long-runs-leave", "else REDACTED, text)", "else run[0], text)", _ON_TEXTS),
    _of("scrub", "images-are-secrets", "if any(run in text for text in known):", "if False:", _ON_TEXTS),
    _of(
        "scrub",
        "paths-are-secrets",
        "    return not (any(map(str.isdigit, run)) and",
        "    return False and (",
        _ON_TEXTS,
    ),
    _of(
        "scrub",
        "digest-of-values",
        "REDACTED if given and not isinstance(tree, bool) else tree",
        "tree",
        _ON_TEXTS,
    ),
    _of("scrub", "short-values-leave", "_SHORTEST: Final = 4", "_SHORTEST: Final = 40", _ON_TEXTS),
    _of("scrub", "given-values-leave", "text = given.sub(REDACTED, text)", "pass", _ON_TEXTS),
    _of("scrub", "credentials-leave", "text = pattern.sub(_hidden, text)", "pass", _ON_TEXTS),
    _of(
        "scrub", "texts-are-not-cut", "return text if len(text) <= LONGEST else", "return text or", _ON_TEXTS
    ),
    _of("scrub", "volumes-in-the-digest", "|^volumes$", "", _ON_TEXTS),
    _of("scrub", "no-hexadecimal", "        yield raw.hex()\n", "", _ON_TEXTS),
    _of("scrub", "no-url-encoding", '        yield quote(raw, safe="")\n', "", _ON_TEXTS),
    _of(
        "scrub", "options-are-whole", "if equals and re.fullmatch", "if not name and re.fullmatch", _ON_TEXTS
    ),
    _of("scrub", "digest-by-order", "sort_keys=True", "sort_keys=False", _ON_TEXTS),
    _of("fitting", "too-large", "LIMIT: Final = 48 * 1024", "LIMIT: Final = 480 * 1024", _ON_TEXTS),
    _of("fitting", "names-are-halved", "if name in _MAPS:", "if True:", _ON_TEXTS),
)
