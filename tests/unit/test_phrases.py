"""What is said in Chinese: every phrase has a translation, and nothing of what it says is lost in it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import projectors.explain
from jobledger.console.timeline import build
from jobledger.lives import wording as words
from projectors.explain import explain
from projectors.history import phrases as history_phrases
from projectors.history.phrases import CAUSES, event_words
from projectors.phrases import Phrase, Sentence, Several, actors, exits, in_words, phrase, sentences
from projectors.phrases.chinese import CHINESE
from statemachine.events import Announced, CauseClass
from statemachine.observations import Container, ContainerStatus
from tests.support.scenario import Story, workers

SOURCES = [
    *Path(projectors.explain.__file__).parent.glob("*.py"),
    Path(build.__file__),
    Path(words.__file__),
    Path(history_phrases.__file__),
    Path(exits.__file__),
    Path(actors.__file__),
]
OOM = (Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=137, reason="OOMKilled"),)
FAILED = (Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=1, reason="Error"),)
ENGLISH = re.compile(r"\b(the|was|is|are|by|and|not|its|of|to)\b")


def templates() -> Iterator[str]:
    """What stands in the calls of `phrase`."""
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "phrase":
                template = node.args[0]
                assert isinstance(template, ast.Constant), f"{source.name}:{node.lineno} is not written out"
                yield str(template.value)


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def test_every_phrase_has_its_chinese_and_nothing_else_does() -> None:
    assert set(templates()) == set(CHINESE)


@pytest.mark.parametrize("template", CHINESE)
def test_a_translation_says_all_that_the_phrase_says(template: str) -> None:
    assert names(CHINESE[template]) == names(template)


def test_a_life_in_chinese_has_no_word_of_english() -> None:
    story = Story(workers(2, runPolicy={"backoffLimit": 1})).submit().all_pods("Running")
    story.at(20).pod("worker-1", "Failed", containers=OOM, node="node-1").at(22).gone("worker-1")
    story.at(25).pod("worker-1", "Running").at(30).pod("worker-0", "Failed", containers=FAILED)
    english, chinese = explain(story.steps), explain(story.steps, "zh")
    assert chinese.answer == (
        "Job 已失败：决定结果的 worker-0 失败，且重启次数已用尽。起因是 worker-0：容器 pytorch 以退出码 1 结束。"
    )
    said = [chinese.answer, *(incident.says for incident in chinese.incidents)]
    assert said[1] == "Job 已由 alice 提交，以 2 个副本启动。"
    assert said[2] == (
        "worker-1 失败：容器 pytorch 因超出内存上限被终止（OOMKilled，退出码 137）（节点 node-1）。"
        "将重启（第 1 次重启，上限 1 次）。"
    )
    assert not [word for word in said if ENGLISH.search(word)]
    for one, other in zip(english.incidents, chinese.incidents, strict=True):  # only the words differ
        assert one.model_copy(update={"says": ""}) == other.model_copy(update={"says": ""})


def test_what_a_cluster_says_stays_as_it_was_said() -> None:
    story = Story(workers(1)).submit().refused("Pod", 403, "exceeded quota: gpus")
    (refusal,) = [
        incident for incident in explain(story.steps, "zh").incidents if incident.nature == "abnormal"
    ]
    assert (
        refusal.says == "API server 拒绝了对 Pod mnist-7ac1b-worker-0 的 create 操作：exceeded quota: gpus。"
    )


def test_what_was_observed_is_said_in_both_languages() -> None:
    story = Story(workers(1)).submit().all_pods("Running").pod("worker-0", "Failed", containers=OOM)
    causes = [words.observation_words(entry.cause) for entry in story.entries]
    assert in_words(causes[0]) == "job, generation 1 by alice"
    assert in_words(causes[-1]) == "pod worker-0 Failed, exit code 137 (SIGKILL)"
    assert in_words(causes[-1], "zh") == "Pod worker-0 Failed，退出码 137（SIGKILL）"
    assert in_words(causes[0], "zh") == "Job，第 1 代，操作者 alice"


def test_what_was_decided_is_said_in_chinese_without_a_word_of_english() -> None:
    story = Story(workers(2, runPolicy={"backoffLimit": 1})).submit().all_pods("Running")
    story.at(20).pod("worker-1", "Failed", containers=OOM, node="node-1").at(22).gone("worker-1")
    story.at(25).refused("Pod", 403).at(30).pod("worker-1", "Running").pod(
        "worker-0", "Failed", containers=FAILED
    )
    decided = [event for entry in story.entries for event in entry.events if not isinstance(event, Announced)]
    said = [in_words(event_words(event), "zh") for event in decided]
    assert "worker-1 失败（内存不足，退出码 137）" in said
    assert "worker-1 第 1 次重启，上限 1 次" in said
    assert "worker-0 不再重启：重启次数已用尽" in said
    assert not [word for word in said if ENGLISH.search(word)]


@pytest.mark.parametrize("kind", CauseClass)
def test_a_cause_is_called_what_events_call_it(kind: CauseClass) -> None:
    assert str(CAUSES[kind]) == kind


def test_an_explanation_without_a_language_is_english() -> None:
    story = Story(workers(2)).submit().all_pods("Running")
    assert explain(story.steps) == explain(story.steps, "en")


def test_braces_in_values_are_no_names() -> None:
    said = phrase("{replica} failed: {why}.", replica="worker-0", why="{oops} {0}")
    assert said.text("zh") == "worker-0 失败：{oops} {0}。"
    assert str(said) == "worker-0 failed: {oops} {0}."


def test_a_phrase_without_chinese_is_said_in_english() -> None:
    assert Phrase("never {x}", {"x": "seen"}).text("zh") == "never seen"


def test_sentences_end_and_follow_each_other_as_the_language_has_it() -> None:
    said = sentences(Sentence("quota exceeded"), "", phrase("The job has succeeded."))
    assert in_words(said) == "quota exceeded. The job has succeeded."
    assert in_words(said, "zh") == "quota exceeded。Job 已成功。"
    ends = sentences(Sentence("out of disk."), phrase("The job has succeeded."))
    assert in_words(ends, "zh") == "out of disk. Job 已成功。"
    assert Several(("a", "", "b"), "names").text("zh") == "a、b"
