"""The fields of a pod template, from the models of the official Python client, for `pod_fields` in the core.

python -m tests.support.pod_fields >statemachine/kinds/common/pod_fields.py
"""

import re
import sys
from textwrap import fill

from kubernetes.client import models

HEAD = '''\
"""Every field of a pod template, by type: what is in none of them is a slip of the pen.

Made by `python -m tests.support.pod_fields` from the official Python client's models, which are made from the
Kubernetes API reference (PodTemplateSpec v1 core). A line is a type and its fields; `field:Type` is an object, or a
list of them.
"""

from typing import Final

ROOT: Final = "PodTemplateSpec"

TABLE: Final = """\\
'''


def table() -> str:
    """The types that can be reached from a pod template, a line each, unless that is too long."""
    lines: dict[str, str] = {}
    waiting = ["V1PodTemplateSpec"]
    while waiting:
        model = getattr(models, waiting.pop(0))
        if _short(model.__name__) in lines:
            continue
        fields = []
        for attribute, kind in model.openapi_types.items():
            match = re.fullmatch(r"(?:[Ll]ist\[)?(\w+)\]?", kind)
            inner = match[1] if match and hasattr(models, match[1]) else ""
            fields.append(model.attribute_map[attribute] + (f":{_short(inner)}" if inner else ""))
            waiting += [inner] if inner else []
        line = f"{_short(model.__name__)}: {' '.join(sorted(fields))}"
        lines[_short(model.__name__)] = fill(line, 116, subsequent_indent="  ", break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines.values())


def _short(name: str) -> str:
    return re.sub(r"^(Core)?V1", "", name)


def source() -> str:
    """The text of the module."""
    return f'{HEAD}{table()}"""\n'


if __name__ == "__main__":
    sys.stdout.write(source())
