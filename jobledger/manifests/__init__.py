"""Files → manifests: YAML or JSON, several documents, Lists, standard input; whatever is wrong becomes a sentence.

Used by every verb that takes FILE, and by the API for what is sent to it. Jobs of every known kind come out, and the
ConfigMaps and Secrets that may accompany them; each manifest with the place it came from. Nothing here looks into a
`spec`: that is the kind's to do.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from jobledger.manifests.documents import Document, Unreadable, documents
from jobledger.manifests.places import Place
from statemachine.errors import Problem, SpecInvalid
from statemachine.kinds import KNOWN, UnknownKind, kind_of
from statemachine.schema.metadata import is_name, of_object
from statemachine.schema.problems import shown

FILE_LIMIT: Final = 3 * 1024 * 1024
"""Bytes of a file. An API server reads no more of a request than that."""

OBJECT_LIMIT: Final = 1536 * 1024
"""Bytes of one object as JSON. etcd takes no larger write, so no cluster could store it."""

MANIFESTS_LIMIT: Final = 1000
"""Manifests of a file: more of them are a mistake, and their problems more than anybody reads."""

STDIN: Final = "-"

ACCOMPANYING: Final = ("ConfigMap", "Secret")
"""Kinds of `v1` that may stand beside the jobs that use them."""

_TEXT_OF_BINARY: Final = "is no text; a manifest is YAML or JSON in UTF-8"


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """Where a manifest, or something wrong, stands. Numbers count from 1; 0 is for the whole of what is above.

    `item` is the place in a List. Reads like `jobs.yaml, document 2, line 31`.
    """

    file: str
    document: int = 0
    line: int = 0
    column: int = 0
    item: int = 0

    def __str__(self) -> str:
        document = f"document {self.document}" if self.document > 1 else ""
        line = f"line {self.line}" if self.line else ""
        column = f"column {self.column}" if self.column else ""
        item = f"item {self.item}" if self.item else ""
        return ", ".join(filter(None, (shown_name(self.file), document, item, line, column)))


Locate = Callable[[str], Place]
"""The path of a field → where it stands in the file."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as it was written, of a kind that jobledger handles, with a name."""

    raw: dict[str, Any]
    source: ManifestSource
    locate: Locate | None = field(default=None, compare=False, repr=False)

    def place(self, path: str) -> Place | None:
        """Where the field `path` stands in the file, or what there is of it; None if nobody knows."""
        return self.locate(path) if self.locate else None

    @property
    def kind(self) -> str:
        """`kind`."""
        return str(self.raw["kind"])

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return str(self.raw["metadata"]["name"])

    @property
    def is_job(self) -> bool:
        """It is a job, not a ConfigMap or Secret beside one."""
        return self.kind not in ACCOMPANYING

    @property
    def spec(self) -> Any:
        """`spec`, whatever it is; None if there is none."""
        return self.raw.get("spec")


class ManifestUnusable(SpecInvalid):
    """A file, or one manifest in it, cannot be used: `source` says where, `problem` what."""

    def __init__(self, source: ManifestSource, text: str, path: str = "", place: Place | None = None) -> None:
        self.source, self.problem = source, Problem("", path, text)
        self.place = place or Place(source.line, source.column)
        """Of the field that is wrong. Line 0: of the whole file."""
        super().__init__([Problem("", "", f"{source}: {self.problem}")])


@dataclass(frozen=True, slots=True)
class Loaded:
    """What could be read, and what could not, both in order."""

    manifests: tuple[Manifest, ...] = ()
    faults: tuple[ManifestUnusable, ...] = ()

    def usable(self) -> tuple[Manifest, ...]:
        """The manifests.

        Raises:
            SpecInvalid: something was wrong; every fault is one of its problems.
        """
        if self.faults:
            raise SpecInvalid([problem for fault in self.faults for problem in fault.problems])
        return self.manifests


def load(files: Sequence[str], stdin: BinaryIO | None = None) -> Loaded:
    """Everything in `files`, in order; `-` is `stdin`. Never raises for what a file is or holds."""
    manifests: list[Manifest] = []
    faults: list[ManifestUnusable] = []
    for file in files:
        source = ManifestSource(file)
        try:
            data = _bytes(file, stdin)
        except (OSError, ValueError) as error:
            faults.append(ManifestUnusable(source, _os_sentence(error)))
            continue
        loaded = read(data, file)
        manifests += loaded.manifests
        faults += loaded.faults
    return Loaded(tuple(manifests), tuple(faults))


def read(data: bytes, file: str) -> Loaded:
    """Everything in the text `data`; `file` is only a name for it. Never raises, whatever the bytes are."""
    loaded: list[Manifest | ManifestUnusable] = []
    number = 0
    try:
        for document in documents(_text(data), FILE_LIMIT):
            number = document.number
            for source, raw in _objects(document, file):
                _refuse_many(len(loaded))
                loaded.append(_checked(raw, source, partial(document.place_of, raw)))
    except Unreadable as error:
        loaded.append(
            ManifestUnusable(ManifestSource(file, number + 1, error.line, error.column), error.text)
        )
    if not loaded:
        loaded.append(ManifestUnusable(ManifestSource(file), "holds no manifest"))
    return Loaded(
        tuple(item for item in loaded if isinstance(item, Manifest)),
        tuple(item for item in loaded if isinstance(item, ManifestUnusable)),
    )


def _refuse_many(number: int) -> None:
    if number == MANIFESTS_LIMIT:
        raise Unreadable(f"holds more than {MANIFESTS_LIMIT} manifests")


def shown_name(file: str) -> str:
    """The name of a file as messages show it: on one line, and harmless to a terminal."""
    if file == STDIN:
        return "standard input"
    return file if file.isprintable() else ascii(file)


def _bytes(file: str, stdin: BinaryIO | None) -> bytes:
    """The file's content, cut where it is too long anyway."""
    if file == STDIN:
        return (stdin or sys.stdin.buffer).read(FILE_LIMIT + 1)
    with Path(file).open("rb") as opened:
        return opened.read(FILE_LIMIT + 1)


def _os_sentence(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return "is a directory; name the files in it"
        case PermissionError():
            return "may not be read by this user"
        case OSError():
            return f"cannot be read: {error.strerror or error}"
        case _:
            return "is no name of a file"


def _text(data: bytes) -> str:
    """The text in `data`, without a byte order mark."""
    if len(data) > FILE_LIMIT:
        mebibytes = FILE_LIMIT // 1024 // 1024
        raise Unreadable(
            f"is larger than {mebibytes} MiB, the limit for manifests; split it into several files"
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("is in UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise Unreadable(_TEXT_OF_BINARY)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            f"is not UTF-8: the byte 0x{data[error.start]:02x} does not belong there", line
        ) from None


def _objects(document: Document, file: str) -> Iterator[tuple[ManifestSource, Any]]:
    """The document's object, or the items of the List that it is."""
    value = document.value
    items = value.get("items") if isinstance(value, dict) and _is_list(value) else None
    if not isinstance(items, list):
        yield ManifestSource(file, document.number, document.line), value
        return
    for number, item in enumerate(items, 1):
        yield ManifestSource(file, document.number, document.line_of(item), item=number), item


def _is_list(value: dict[str, Any]) -> bool:
    kind = value.get("kind")
    return kind == "List" or (
        isinstance(kind, str) and kind.endswith("List") and kind.removesuffix("List") in KNOWN
    )


def _checked(raw: Any, source: ManifestSource, locate: Locate) -> Manifest | ManifestUnusable:
    """The manifest, if it is an object of a known kind that has a name and a size that can be stored."""
    try:
        _check_kind(raw)
        _check_metadata(raw)
        _check_size(raw)
    except SpecInvalid as error:
        first = error.problems[0]
        return ManifestUnusable(source, first.text, first.path, locate(first.path))
    return Manifest(raw, source, locate)


def _refuse(path: str, text: str) -> SpecInvalid:
    return SpecInvalid([Problem("", path, text)])


def _check_kind(raw: Any) -> None:
    if not isinstance(raw, dict):
        kind = {list: "a list", str: "a text", type(None): "empty"}.get(type(raw), "a single value")
        raise _refuse("", f"is {kind}; a manifest is an object with apiVersion, kind, metadata and spec")
    for name in ("apiVersion", "kind"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            text = "Required value" if not raw.get(name) else "must be a string"
            raise _refuse(name, text)
    if raw["kind"] in ACCOMPANYING and raw["apiVersion"] == "v1":
        return
    try:
        kind_of(raw["apiVersion"], raw["kind"])
    except UnknownKind as error:
        problem = error.problems[0]
        raise _refuse(problem.path, problem.text) from None


def _check_metadata(raw: dict[str, Any]) -> None:
    meta = raw.get("metadata")
    if not isinstance(meta, dict):
        raise _refuse("metadata", "Required value" if meta is None else "must be an object")
    if meta.get("name") is None and meta.get("generateName") is not None:
        raise _refuse("metadata.generateName", "is not supported; give the object a metadata.name")
    for name in ("name", "namespace"):
        value = meta.get(name)
        if value is not None and not isinstance(value, str):
            raise _refuse(f"metadata.{name}", "must be a string; put it in quotes")
        if name == "name" and not value:
            raise _refuse("metadata.name", "Required value")
    if raw["kind"] in ACCOMPANYING and not is_name(meta["name"]):
        raise _refuse("metadata.name", f"Invalid value: {shown(meta['name'])}: must be a DNS-1123 subdomain")
    problems = [Problem("G20", path, text) for path, text in of_object(meta)]
    if problems:
        raise SpecInvalid(problems)


def _check_size(raw: dict[str, Any]) -> None:
    try:
        size = len(json.dumps(raw, ensure_ascii=False, separators=(",", ":")).encode())
    except UnicodeEncodeError:
        raise _refuse("", "a text in it holds half of a Unicode character (a lone surrogate)") from None
    if size > OBJECT_LIMIT:
        limit = f"{OBJECT_LIMIT / 1024 / 1024:g} MiB"
        raise _refuse(
            "", f"is too large: {size / 1024 / 1024:.1f} MiB as JSON, and no cluster stores more than {limit}"
        )
