"""docs/spec/: what code, tests and pages cite of it is there, and its exact texts are those of the product."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from statemachine.events import Cause, CauseClass
from statemachine.kinds import KINDS
from statemachine.kinds.pytorchjob import words as of_pytorchjob
from statemachine.phases import TABLE
from statemachine.rulebook import Rule
from statemachine.rules import words
from statemachine.state import JobState

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs" / "spec"
FOLDERS = ("statemachine", "k8s_bridge", "projectors", "jobledger", "tests", "docs")

PAGES = {page.name: page.read_text(encoding="utf-8") for page in SPEC.glob("*.md")}
RULES = [rule for kind in KINDS for rule in kind.rules]

OF_KINDS = sorted({rule.id.rstrip("0123456789") for rule in RULES} - {"R"})
"""Prefixes of rules that a kind checks; R are sections, T moves of the phase."""

ID = re.compile(rf"\b(?:{'|'.join(('R', 'T', *OF_KINDS))})\d{{1,2}}\b")

NOT_CITED = {"G99"}
"""Ids of no rule: one that a test makes up."""

SECTIONS = re.compile(r"\b([a-z-]+\.md), sections? (\d+(?:(?:, | and | to )\d+)*)")
PAGE = re.compile(r"(?<![\w/.-])(?:[a-z-]+job|console)\.md\b")
"""A page of the spec by its bare name; other pages are cited with their folder."""


# ---- what is cited ----------------------------------------------------------------------------------------------


@cache
def anchors() -> dict[str, list[str]]:
    """Page → its anchors."""
    return {name: re.findall(r'<a id="([\w-]+)"></a>', text) for name, text in PAGES.items()}


RULE_IDS = [
    anchor.upper() for names in anchors().values() for anchor in names if ID.fullmatch(anchor.upper())
]


def sources() -> Iterator[tuple[str, str]]:
    """Path and text of everything that may cite the spec; a citation may be broken at the end of a line."""
    files = [file for folder in FOLDERS for end in ("py", "md") for file in (ROOT / folder).rglob(f"*.{end}")]
    for file in [*files, *ROOT.glob("*.md")]:
        if file != Path(__file__):
            yield str(file.relative_to(ROOT)), " ".join(file.read_text(encoding="utf-8").split())


def numbers(text: str) -> Iterator[int]:
    """The sections that a citation means: "1, 3 and 5 to 7" are 1, 3, 5, 6, 7."""
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        yield from range(int(first), int(last or first) + 1)


def missing(text: str) -> Iterator[str]:
    """What `text` cites and the spec has not."""
    yield from sorted(set(ID.findall(text)) - {*RULE_IDS} - NOT_CITED)
    yield from sorted(set(PAGE.findall(text)) - {*PAGES})
    for page, cited in SECTIONS.findall(text):
        for number in numbers(cited):
            if page in PAGES and f"section-{number}" not in anchors()[page]:
                yield f"{page}, section {number}"


def test_everything_that_is_cited_of_the_spec_is_there() -> None:
    assert {path: absent for path, text in sources() if (absent := list(missing(text)))} == {}


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("Source: spec R8; README R2, T16, PT9, KX3.", []),
        ("Source: spec R99, PT99.", ["PT99", "R99"]),
        ("deepspeedjob.md, sections 2 and 5 to 7", []),
        ("deepspeedjob.md, sections 2, 7 and 12", ["deepspeedjob.md, section 12"]),
        ("kubeflow-pytorchjob.md, sections 7 to 9", ["kubeflow-pytorchjob.md, section 9"]),
        ("nojob.md, section 1", ["nojob.md"]),
        ("See docs/kinds/nojob.md and docs/console.md.", []),
    ],
)
def test_a_citation_that_leads_nowhere_is_named(text: str, lacks: list[str]) -> None:
    assert list(missing(text)) == lacks


def test_an_id_stands_once() -> None:
    assert sorted(RULE_IDS) == sorted(set(RULE_IDS))


# ---- links ------------------------------------------------------------------------------------------------------


def headings(text: str) -> set[str]:
    """The anchors that a page has by its headings, and those that it sets."""
    lines = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in lines]
    made = {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in plain}
    return made | set(re.findall(r'<a id="([^"]+)"', text))


def dead_links(page: Path) -> Iterator[str]:
    """Links of a page to files and anchors that are not there."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if not ("://" in target or target.startswith("mailto:") or leads_somewhere(page, target)):
            yield target


def leads_somewhere(page: Path, target: str) -> bool:
    """The file of a link is there, and the anchor in it, if it is a page."""
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    if not file.exists():
        return False
    return not anchor or file.suffix != ".md" or anchor in headings(file.read_text(encoding="utf-8"))


MARKDOWN = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_links_between_pages_lead_somewhere() -> None:
    assert {str(page.relative_to(ROOT)): dead for page in MARKDOWN if (dead := list(dead_links(page)))} == {}


def test_a_dead_link_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('# A *page*\n<a id="r1"></a>\n[a](#r1) [b](#a-page) [c](#r2) [d](no.md) [e](page.md#r3)')
    assert list(dead_links(page)) == ["#r2", "no.md", "page.md#r3"]


# ---- what the pages say -----------------------------------------------------------------------------------------


def place(id_: str) -> str:
    """What the spec says at a rule: the text from its anchor to the next one."""
    mark = f'<a id="{id_.lower()}"></a>'
    (text,) = [text for text in PAGES.values() if mark in text]
    return text.partition(mark)[2].partition('<a id="')[0]


def says(text: str, sentence: str) -> bool:
    """`sentence` is one of the texts in backticks, in which `<…>` stands for anything."""
    patterns = [re.sub(r"<[^>]*>", ".+", re.escape(code)) for code in re.findall(r"`([^`]+)`", text)]
    return any(re.fullmatch(pattern, sentence) for pattern in patterns)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_stands_in_the_spec_with_its_layer_and_its_text(rule: Rule) -> None:
    assert rule.id in RULE_IDS
    text = place(rule.id)
    assert says(text, rule.text)
    if not rule.id.startswith("R"):
        assert rule.layer in text.split("|")[1].replace(",", "").split()


def test_every_rule_of_a_kind_in_the_spec_is_one_of_the_product() -> None:
    checked = {rule for rule in RULE_IDS if rule.rstrip("0123456789") in OF_KINDS}
    assert checked == {rule.id for rule in RULES if not rule.id.startswith("R")}


def test_a_text_that_differs_is_no_text_of_the_spec() -> None:
    assert says("`<path>: must be <n>`", "spec.x: must be 7")
    assert not says("`<path>: must be <n>`", "spec.x: may be 7")


def test_every_row_of_the_phase_table_stands_in_the_spec() -> None:
    assert {row.rule for row in TABLE} - {"adopted"} <= set(RULE_IDS)
    assert all(str(row.target) in place(row.rule) for row in TABLE if row.target and row.rule != "adopted")


EXIT = Cause(kind=CauseClass.APPLICATION_EXIT, rule="R8", container="pytorch", exit_code=1)
EVICTED = Cause(kind=CauseClass.DISRUPTED, rule="R8", reason="Evicted")


@pytest.mark.parametrize(
    "sentence",
    [
        words.INITIALIZED_MESSAGE,
        words.NORMAL_MESSAGE,
        words.DONE_MESSAGE,
        words.EXIT_MESSAGE,
        words.PAUSED_MESSAGE,
        words.RESUMING_MESSAGE,
        words.limit_message(3),
        words.deadline_message(60),
        words.unknown_message("train-0"),
        words.replica_message("train-0", EXIT),
        words.replica_message("train-0", EVICTED),
        words.lost_message("train-0"),
        words.early_end_message("train-0", "launcher"),
    ],
)
def test_a_message_of_a_condition_stands_in_r6(sentence: str) -> None:
    assert says(place("R6"), sentence)


JOB = JobState("u-1", namespace="team", name="mnist")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sentence",
    [
        of_pytorchjob.created("mnist"),
        of_pytorchjob.running(JOB, master=True),
        of_pytorchjob.running(JOB, master=False),
        of_pytorchjob.restarting(JOB, "Worker"),
        of_pytorchjob.disappearing(JOB, "Worker", 1),
        of_pytorchjob.succeeded(JOB, master=True),
        of_pytorchjob.succeeded(JOB, master=False),
        of_pytorchjob.failed(JOB, "Worker", 1),
        of_pytorchjob.failed_by_code(JOB, "Worker"),
        of_pytorchjob.past_limit(JOB),
        of_pytorchjob.past_deadline(JOB),
        of_pytorchjob.suspended("mnist"),
        of_pytorchjob.resumed("mnist"),
        of_pytorchjob.ALL_MADE,
        of_pytorchjob.ACCEPTED,
        of_pytorchjob.INVALID,
    ],
)
def test_a_message_of_a_pytorchjob_stands_on_its_page(sentence: str) -> None:
    text = PAGES["kubeflow-pytorchjob.md"].partition('<a id="section-4"></a>')[2]
    assert says(text.partition('<a id="section-5"></a>')[0], sentence)
