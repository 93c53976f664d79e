"""What must not be shown: passwords, tokens and keys, wherever they stand in what leaves (design rule 8).

They are in the log as users wrote them: in pod templates (environment, arguments, probes, volumes), in
annotations, and in texts that quote those. Pure: plain data or a text comes in, a copy goes out in which `REDACTED`
stands in the place of every such value, never its length. Whatever leaves, leaves through an edge that asks here
(`jobledger.web.responses`, `jobledger.console.frame`, `jobledger.cli.common`, `jobledger.telemetry.log_lines`, the
projectors of Events and statuses, the bridge's refusals); a view need not think of it. `secret_names` judges names.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from statemachine.secret_names import is_secret, is_secret_key

REDACTED: Final = "<redacted>"

_SHORTEST: Final = 8
"""Characters from which on a secret is hidden where it stands again without its name; `main` or `true` are words."""

_NO_SECRET: Final = re.compile(
    r"(?i:true|false|yes|no|on|off|none|null|basic|bearer)$|\$\(\w|\$\{?[A-Z_][A-Z0-9_]*\}?$|<redacted>|</?[\w|]{1,24}>$"
)
"""Values that say nothing, references to what holds the secret, our own mark, and special tokens of a vocabulary."""

_QUOTED: Final = r"""(?P<quote>\\+["'])(?:(?!(?P=quote)).)*(?:(?P=quote))?|"(?:\\.|[^"\\])*"?|'[^']*'?"""
_QUOTE: Final = re.compile(r"""\\*["']""")
_BARE: Final = r"""[^\s'"&;|<>)`]+"""
_VALUE: Final = rf"(?P<value>{_QUOTED}|{_BARE})"
_NAME: Final = r"(?P<name>[A-Za-z_][\w.-]{0,80})"
_KEY: Final = r"(?P<name>[A-Za-z_][\w./-]{0,120})"

_ONE_NAME: Final = re.compile(r"[-+]{0,2}[\w.-]+")

_ASSIGNED: Final = re.compile(rf"(?<![A-Za-z0-9_]){_NAME}(?P<between>=){_VALUE}")
_FLAG: Final = re.compile(rf"(?<!\S)--?{_NAME}(?P<between>[ \t]+){_VALUE}")
_QUOTED_KEY: Final = re.compile(rf"""(?<=["']){_KEY}(?P<between>\\*["']\s*:\s*){_VALUE}""")
_YAML_LINE: Final = re.compile(
    rf"(?:^|\\+n)[ \t]*(?:- )?{_KEY}(?P<between>:[ \t]+)(?P<value>{_QUOTED}|(?:(?!\\+n)\S)+)(?=[ \t]*(?:\\+n|$))",
    re.MULTILINE,
)
_NAMED: Final = (_ASSIGNED, _FLAG, _QUOTED_KEY, _YAML_LINE)
"""`NAME=value`, `--name value`, `"name": "value"` and `name: value` inside of a text."""

_PAIR: Final = re.compile(
    rf"""[Nn]ame(?:\\*["'])?\s*:\s*(?:\\*["'])?(?P<name>[\w.-]+)"""
    rf"""(?P<between>(?:\\*["'])?[,\n]\s*(?:\\*["'])?[Vv]alue(?:\\*["'])?\s*:\s*){_VALUE}"""
)
"""An entry of `env` inside of a text: in JSON, in YAML, or as an API server's error shows it."""

_PLAIN: Final = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"""://[^/\s:@'"]*:(?P<value>[^/\s'"]+)@""", 0),  # the password of an address
        (r"""https?://(?P<value>[^/\s:@'"<]{16,})@""", 0),  # a token in its place
        (
            r"\bauthorization[\"']?\s*[:=]\s*[\"']?(?:\w+\s+)?(?!\w+\s)(?P<value>[^\s'\"<]+)",
            re.IGNORECASE,
        ),
        (r"\bbearer\s+(?P<value>[\w.~+/=-]{12,})", re.IGNORECASE),
        (r"\b(?:curl|wget)\b[^\n;|]*?\s(?:-u|--user)[ =]?[\"']?[^\s:'\"]+:(?P<value>[^\s'\"<]+)", 0),
        (r"\bsshpass\s+-p\s*(?P<value>[^\s<]+)", 0),
        (
            r"(?P<value>\b(?:hf_\w{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|npm_\w{20,}"
            r"|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}"
            r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*))",
            0,
        ),  # what services make so that it can be recognised
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<value>.*?)(?:-----END|\Z)", re.DOTALL),
        (
            r"(?:\b(?:env|args|command|annotations|data|stringData|options)\b|Attributes|Headers)\S*:"
            rf" (?:Invalid|Unsupported|Duplicate) value: (?P<value>{_QUOTED})",
            0,
        ),  # an API server that refuses quotes the value. Source: Kubernetes, field.Error
    )
)

_SUSPECT: Final = re.compile(
    r"secret|token|pass|pwd|pw|key|cred|auth|bearer|private|cookie|sig|dsn|webhook|salt|://"
    r"|hf_|gh[pousr]_|github_|glpat-|npm_|sk-|xox|A[KS]IA|AIza|eyJ|curl|wget|value: ",
    re.IGNORECASE,
)
"""Without any of these a text is not looked at more closely: most are names and times."""

_SHORT: Final = 200
"""Characters of a text of which it is remembered whether it is looked at more closely: most come again and again."""

_NAMES: Final = frozenset({"name", "namespace", "uid", "kind", "apiVersion", "phase", "type", "replica"})
"""Fields that identify: what has the same text as a secret by chance stays readable there."""

_OF_TEXT: Final = frozenset({"data", "stringData"})


def redacted(value: Any, *beside: Any) -> Any:
    """A copy of plain data in which no secret stands; those of `beside` (plain data, too) are hidden as well.

    In a list, and in the `items` of one, nothing is hidden of an item because it is a secret of another.
    """
    if isinstance(value, list | tuple):
        return (
            [redacted(item, *beside) for item in value] if _of_maps(value) else Redactor(*beside).tree(value)
        )
    if isinstance(value, Mapping) and _of_maps(items := value.get("items")):
        rest = {name: inner for name, inner in value.items() if name != "items"}
        return {**redacted(rest, *beside), "items": redacted(items, *beside)}
    return Redactor(value, *beside).tree(value)


def _of_maps(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value)


def redacted_text(text: str, *beside: Any) -> str:
    """The text without secrets, those of `beside` included."""
    return Redactor(*beside).text(text)


def is_redacted(value: object) -> bool:
    """A secret was taken out of the text `value`: it cannot be used in the place of the old one."""
    return isinstance(value, str) and REDACTED in value


class Secrets(frozenset[str]):
    """Secrets that were found in plain data."""


class Same:
    """Equal to itself alone, and to what holds the same object: a key for what has no hash."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


def secrets_of(spec: Mapping[str, Any] | None) -> Secrets:
    """What `spec` shows to be secret; to be given as known. For specs that nobody changes, such as those of states.

    They are looked through once, not for every entry and every visit.
    """
    return _secrets_of(Same(spec))


@lru_cache(maxsize=1024)
def _secrets_of(spec: Same) -> Secrets:
    return Secrets(_found_in(spec.held))


def _found_in(known: Any) -> set[str]:
    values: set[str] = set()
    _Walk(lambda text: text, values.add).tree(known)
    return values


class Redactor:
    """Takes secrets out, also those that `known` (plain data, or Secrets) shows, wherever they stand again."""

    def __init__(self, *known: Any) -> None:
        values: set[str] = set()
        self._known: re.Pattern[str] | None = None
        for source in known:
            values |= source if isinstance(source, Secrets) else _found_in(source)
        if long := sorted(filter(_is_telling, values), key=lambda secret: (-len(secret), secret)):
            self._known = re.compile("|".join(map(re.escape, long)))

    def tree(self, value: Any) -> Any:
        """A copy of plain data without secrets."""
        return _Walk(self._again, lambda _: None).tree(value)

    def text(self, text: str) -> str:
        """The text without secrets."""
        return _Walk(self._again, lambda _: None).text(text)

    def _again(self, text: str) -> str:
        return self._known.sub(REDACTED, text) if self._known else text


def _is_telling(value: str) -> bool:
    return len(value) >= _SHORTEST and not value.startswith("/") and REDACTED not in value


class _Walk:
    """One walk over plain data: `again` hides known values in a text, `report` is called with every secret."""

    def __init__(self, again: Callable[[str], str], report: Callable[[str], object]) -> None:
        self._again, self._report = again, report

    def tree(self, value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return value if key in _NAMES else self.text(value)
        if isinstance(value, list | tuple):
            return list(self._items(value, key))
        # its exact type comes first: asking an abstract class costs ten times as much
        if type(value) is dict or isinstance(value, Mapping):
            return self._map(value, key)
        return value

    def _map(self, value: Mapping[str, Any], key: str) -> dict[str, Any]:
        held = _OF_TEXT if value.get("kind") == "Secret" else frozenset()
        is_env = key == "env"
        name = value.get("name")
        pair = isinstance(name, str) and is_secret(name, value.get("value"))
        return {
            name: self._hidden(inner)
            if name in held
            or (pair and name == "value")
            or (
                _secret_variable(name, inner)
                if is_env
                else is_secret_key(str(name)) and _is_secret_text(inner)
            )
            else self.tree(inner, str(name))
            for name, inner in value.items()
        }

    def _hidden(self, value: Any) -> Any:
        """The mark for every text in `value`."""
        if isinstance(value, Mapping):
            return {name: self._hidden(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._hidden(item) for item in value]
        if value is None or value == "" or isinstance(value, bool):
            return value
        self._report(str(value))
        return REDACTED

    def _items(self, items: list[Any] | tuple[Any, ...], key: str) -> Iterator[Any]:
        """The items of a list: in an argument list a flag says what the next item is."""
        flag = ""
        for item in items:
            if not isinstance(item, str):
                flag = ""
                yield self.tree(item, key)
                continue
            if flag and not item.startswith("--") and not _NO_SECRET.match(item):
                yield self._hidden(item)
            else:
                yield self._item(item)
            is_flag = item.startswith("-") and "=" not in item and " " not in item
            flag = item if is_flag and is_secret_key(item.lstrip("-")) else ""

    def _item(self, item: str) -> str:
        name, equals, value = item.partition("=")
        of_one = bool(equals and value and _ONE_NAME.fullmatch(name))
        if of_one and is_secret_key(name.lstrip("-+")) and not _NO_SECRET.match(value):
            return f"{name}={self._hidden(value)}"
        return self.text(item)

    def text(self, text: str) -> str:
        """The text without what looks like a secret in it."""
        if not (_is_suspect(text) if len(text) <= _SHORT else _SUSPECT.search(text)):
            return self._again(text)
        if (inner := _json(text)) is not None:
            shown = self.tree(inner)
            return text if shown == inner else json.dumps(shown, ensure_ascii=False)
        for pattern in _NAMED:
            text = pattern.sub(self._named, text)
        text = _PAIR.sub(self._paired, text)
        for pattern in _PLAIN:
            text = pattern.sub(self._plain, text)
        return self._again(text)

    def _named(self, match: re.Match[str]) -> str:
        if is_secret_key(match["name"]):
            return self._cut(match)
        start = (
            match.start("value") - match.start()
        )  # in the value there may be names again: `--opts=password=…`
        return match[0][:start] + match.re.sub(self._named, match["value"])

    def _paired(self, match: re.Match[str]) -> str:
        return self._cut(match) if is_secret(match["name"]) else match[0]

    def _cut(self, match: re.Match[str]) -> str:
        start = match.start("value") - match.start()
        before, value = match[0][:start], match["value"]
        quote = opening[0] if (opening := _QUOTE.match(value)) else ""
        bare = value.removeprefix(quote).removesuffix(quote) if quote else value
        if not bare.strip("{[") or _NO_SECRET.match(bare):
            return match[0]
        self._report(bare)
        return f"{before}{quote}{REDACTED}{quote}"

    def _plain(self, match: re.Match[str]) -> str:
        start, value = match.start("value") - match.start(), match["value"]
        bare = value.strip("\"'\\")
        if not bare or _NO_SECRET.match(bare):
            return match[0]
        self._report(bare)
        return f"{match[0][:start]}{REDACTED}{match[0][start + len(value) :]}"


@lru_cache(maxsize=4096)
def _is_suspect(text: str) -> bool:
    return _SUSPECT.search(text) is not None


def _secret_variable(name: object, value: object) -> bool:
    """A variable of an environment that is written as a map."""
    return not isinstance(value, Mapping) and is_secret(str(name), value)


def _is_secret_text(value: object) -> bool:
    """A text that tells something; what only refers to a secret (`secretRef`, `secretKeyRef`) has more fields."""
    return isinstance(value, str) and not _NO_SECRET.match(value)


def _json(text: str) -> Any:
    """What a text in JSON holds, such as the last applied configuration; None if it is anything else."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict | list) else None
