"""Text → values: as Kubernetes reads YAML, and nothing that could hurt a reader."""

import re
import time

import pytest

from jobledger.manifests.documents import MAX_DEPTH, Document, Unreadable, documents

LIMIT = 100_000


def read(text: str) -> list[Document]:
    return list(documents(text, LIMIT))


def value(text: str) -> object:
    return read(f"a: {text}")[0].value["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", True),
        ("y", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("0x1F", 31),
        ("0b101", 5),
        ("0o17", 15),
        ("017", 15),
        ("1_000", 1000),
        ("-5", -5),
        ("08", 8.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("22:22", "22:22"),
        ("2024-01-09", "2024-01-09"),
        ("2024-01-09T15:00:00Z", "2024-01-09T15:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("'yes'", "yes"),
        ('"1"', "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
        ("!!int '7'", 7),
        ("t", "t"),
        ("+", "+"),
        ("- x", None),
    ],
)
def test_a_scalar_means_what_kubernetes_takes_it_for(text: str, expected: object) -> None:
    if text == "- x":
        assert read("a:\n- x")[0].value == {"a": ["x"]}
        return
    meaning = value(text)
    assert (meaning, type(meaning)) == (expected, type(expected))


def test_keys_that_are_no_texts_become_the_texts_of_json() -> None:
    assert read("1: a\nyes: b\n1.5: c")[0].value == {"1": "a", "true": "b", "1.5": "c"}


def test_merge_keys_fill_in_what_is_not_said_and_the_first_one_wins() -> None:
    text = "a: &a {x: 1, w: 1}\nb: &b {w: 2, z: 2}\nc: {<<: [*a, *b], x: 0}\nd: {'<<': 5}"
    assert read(text)[0].value["c"] == {"x": 0, "w": 1, "z": 2}
    assert read(text)[0].value["d"] == {"<<": 5}


def test_empty_documents_count_and_are_left_out() -> None:
    there = read("# nothing\n---\n---\na: 1\n---\n# c\n---\nb: 2\n")
    assert [(document.number, document.line, document.value) for document in there] == [
        (2, 4, {"a": 1}),
        (4, 8, {"b": 2}),
    ]


def test_every_object_and_list_knows_its_line() -> None:
    document = read("a: 1\nb:\n- x\n- {c: 1}\n")[0]
    assert (document.line_of(document.value["b"]), document.line_of(document.value["b"][1])) == (3, 4)


def test_json_is_read_as_json_with_its_own_escapes_and_several_in_a_row() -> None:
    there = read('{"a": "\\ud83d\\ude00\\/"}\n{"b": [1]}\n')
    assert [(document.number, document.line, document.value) for document in there] == [
        (1, 1, {"a": "😀/"}),
        (2, 2, {"b": [1]}),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1, 'the field "a" stands here a second time; the first is on line 1'),
        ('{"a": 1,\n "a": 2}', 2, 2, 'the field "a" stands here a second time; the first is on line 1'),
        ("1: x\n'1': y", 2, 1, "a second time"),
        ("a: {<<: {}, <<: {}}", 1, 13, "a second time"),
        ("a: .inf", 1, 4, ".inf is no JSON value"),
        ("a: .NaN", 1, 4, ".NaN is no JSON value"),
        ('{"a": NaN}', 1, 7, "NaN is no JSON value"),
        ('{"a": 1e999}', 1, 7, "is too large"),
        ("a: 1e999", 1, 4, "is too large"),
        (f"a: {'9' * 5000}", 1, 4, "is too large"),
        ("a:\n\t- b", 2, 1, "a tab stands in the indentation"),
        ('a: "x', 1, 6, "never closed"),
        ("a: b: c", 1, 5, 'a ":" is not expected here'),
        ("a:\n  b: 1\n c: 2", 3, 2, "fits nothing above it"),
        ("a: @x", 1, 4, "must not begin with this character"),
        ("a: \x01", 1, 4, "the character U+0001 is not allowed"),
        ("a: *x", 1, 4, "the alias *x names nothing above it"),
        ("a: &x [*x]", 1, 8, "the alias *x stands inside of what it names"),
        ("!!python/object/apply:os.system [x]", 1, 1, "plain YAML needs no tags"),
        ("a: !!binary aGk=", 1, 4, "plain YAML needs no tags"),
        ("a: !!int x", 1, 4, '"x" is no int'),
        ("? [1]\n: 2", 1, 5, "cannot be the name of a field"),
        ("~: 2", 1, 1, "a field has no name"),
        ("a: {<<: 5}", 1, 9, '"<<" merges objects only'),
        ('a: "\\UFFFFFFFF"', 1, 7, "escape"),
    ],
)
def test_what_is_wrong_is_a_sentence_with_its_place(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(says)) as error:
        read(text)
    assert (error.value.line, error.value.column) == (line, column)
    assert "\n" not in str(error.value)


def test_what_stands_before_a_mistake_is_still_read() -> None:
    stream = documents("a: 1\n---\nb: [\n", LIMIT)
    assert next(stream).value == {"a": 1}
    with pytest.raises(Unreadable):
        next(stream)


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "- " * 3000, "{a: " * 500])
def test_deep_nesting_is_refused_without_recursion(text: str) -> None:
    with pytest.raises(Unreadable, match="nested more than"):
        read(text)


def test_aliases_cannot_nest_deeper_either() -> None:
    half = MAX_DEPTH * 2 // 3
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}"
    with pytest.raises(Unreadable, match="nested more than"):
        read(text)


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    before = time.process_time()
    with pytest.raises(Unreadable, match="with its aliases expanded"):
        read("\n".join(lines))
    assert time.process_time() - before < 20  # nobody lives to see it expanded


def test_long_texts_repeated_by_aliases_count_too() -> None:
    with pytest.raises(Unreadable, match="with its aliases expanded"):
        read(f"a: &a {'x' * 10_000}\nb: [{', '.join(['*a'] * 20)}]")


def test_ordinary_aliases_are_expanded() -> None:
    assert read("a: &a [1, 2]\nb: *a\nc: {d: *a}")[0].value == {"a": [1, 2], "b": [1, 2], "c": {"d": [1, 2]}}
