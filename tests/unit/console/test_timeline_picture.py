"""Timeline → SVG: well-formed, reachable with the keyboard, readable at 4 replicas and at 400, safe."""

import re
from xml.etree import ElementTree as ET

import pytest

from jobledger.console.timeline.bars import PictureStyle
from jobledger.console.timeline.build import timeline
from jobledger.console.timeline.marks import SHAPES, clusters
from jobledger.console.timeline.model import Timeline
from jobledger.console.timeline.picture import MANY, picture, with_cursor
from jobledger.console.timeline.scale import BySeq, ByTime
from projectors.explain.model import IncidentKind
from tests.unit.console.test_timeline import restarted, running


def drawn_as(drawn: Timeline, **more: object) -> ET.Element:
    wanted = PictureStyle(ByTime(drawn.begin, drawn.last), link=lambda seq: f"/here?at={seq}&x=1", **more)  # type: ignore[arg-type]
    return ET.fromstring(picture(drawn, wanted))  # noqa: S314 - our own


def links(root: ET.Element) -> list[ET.Element]:
    return list(root.iter("a"))


def title(node: ET.Element) -> str:
    element = node.find("title")
    assert element is not None
    return element.text or ""


def test_the_picture_is_a_named_group_of_well_formed_svgs_without_styles_or_scripts() -> None:
    root = drawn_as(timeline(restarted().steps))
    assert root.attrib["role"] == "group"
    assert root.attrib["aria-label"] == "Timeline of the job"
    assert not [
        element for element in root.iter() if "style" in element.attrib or element.tag in ("style", "script")
    ]
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]


def test_marks_and_phases_are_links_that_name_their_moment_and_say_what_they_are() -> None:
    drawn = timeline(restarted().steps)
    root = drawn_as(drawn)
    restart = next(link for link in links(root) if link.get("data-kind") == "restart")
    assert restart.attrib["href"] == f"/here?at={restart.attrib['data-seq']}&x=1"
    assert "exit code 7" in title(restart)
    phases = [title(link) for link in links(root) if "data-kind" not in link.attrib]
    assert [phase.split(":")[0] for phase in phases] == ["Pending", "Running"]


def test_everything_stands_inside_of_the_picture() -> None:
    root = drawn_as(timeline(restarted().steps))
    for element in root.iter("rect"):
        x, width = (float(element.attrib[name].rstrip("%")) for name in ("x", "width"))
        assert 0 <= x <= 100
        assert x + width <= 100.2


def test_four_hundred_replicas_make_a_small_picture() -> None:
    drawn = timeline(running(400).steps)
    root = drawn_as(drawn)
    assert all(int(element.attrib["height"]) < 300 for element in root)
    assert len(list(root.iter())) < 1500
    assert "worker ×400" in ET.tostring(root, encoding="unicode")


def test_every_one_of_four_hundred_is_a_thin_row_with_its_name_in_the_title() -> None:
    root = drawn_as(timeline(running(400).steps), every=True)
    thin = [element for element in root.iter("g") if "tl-single" in element.attrib["class"]]
    assert len(thin) == 400 > MANY
    assert all(title(span).startswith(f"worker-{number}: ") for number in (0, 399) for span in thin[number])


def test_words_are_said_in_the_readers_language() -> None:
    words = {"Running": "运行中", "Incidents": "事件经过"}
    text = ET.tostring(
        drawn_as(timeline(restarted().steps), word=lambda english: words.get(english, english)),
        encoding="unicode",
    )
    assert "运行中" in text
    assert "事件经过" in text


def test_text_of_a_job_cannot_become_markup() -> None:
    story = running().at(9).edit(runPolicy={"cleanUpPolicy": "<script>alert(1)</script>"})
    drawn = timeline(story.steps)
    assert any("<script>" in str(mark.says) for mark in drawn.marks)
    wanted = PictureStyle(ByTime(drawn.begin, drawn.last), link=lambda seq: f'"><script>{seq}')
    assert "<script>" not in picture(drawn, wanted)


def test_marks_of_nearly_the_same_time_are_one_with_a_number_that_shows_the_worst() -> None:
    story = running(8, runPolicy={"backoffLimit": 9}).at(1000)
    for number in range(5):
        story.pod(f"worker-{number}", "Failed", exit_code=7)
    drawn = timeline(story.at(1001).edit(runPolicy={"backoffLimit": 10}).steps)
    scale = ByTime(drawn.begin, drawn.last)
    last = clusters(drawn.marks, scale)[-1]
    assert len(last.marks) == 6
    assert last.loudest.kind is IncidentKind.RESTART
    spread = clusters(drawn.marks, BySeq(drawn.begin, drawn.last))
    assert len(spread) > 2


def test_the_cursor_stands_where_the_moment_is_and_is_hidden_without_one() -> None:
    drawn = timeline(restarted().steps)
    scale = ByTime(drawn.begin, drawn.last)
    plain = picture(drawn, PictureStyle(scale, link=str))
    assert cursor(plain) == ("tl-cursor tl-hidden", "100%")
    assert cursor(with_cursor(plain, scale, drawn.moments[0])) == ("tl-cursor", "0%")
    assert cursor(with_cursor(plain, scale, None)) == ("tl-cursor tl-hidden", "100%")
    part = ByTime(drawn.moments[3], drawn.last)
    assert cursor(with_cursor(plain, part, drawn.moments[0])) == ("tl-cursor tl-hidden", "100%")


def cursor(drawn: str) -> tuple[str, str]:
    root = ET.fromstring(drawn)  # noqa: S314 - our own
    (element,) = (element for element in root.iter("svg") if "tl-cursor" in element.get("class", ""))
    return element.attrib["class"], element.attrib["x"]


def test_a_thousand_restarts_make_no_more_steps_than_can_be_distinguished() -> None:
    story = running(2, runPolicy={"backoffLimit": 2000})
    for number in range(1000):
        story.at(10 + number).pod("worker-1", "Failed", exit_code=7).gone("worker-1").pod(
            "worker-1", "Running"
        )
    root = drawn_as(timeline(story.steps))
    assert len([element for element in root.iter("rect") if element.get("class") == "tl-left"]) < 350


@pytest.mark.parametrize("kind", IncidentKind)
def test_every_kind_of_incident_has_a_shape(kind: IncidentKind) -> None:
    assert re.fullmatch(r"[MLHVZ\d .\-]+", SHAPES[kind])
