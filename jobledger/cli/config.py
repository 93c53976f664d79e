"""`jobledger config`: which settings hold, and where each came from."""

from typing import TYPE_CHECKING, Any

from jobledger.cli import common

if TYPE_CHECKING:
    from pydantic import SecretStr


def config(
    *,
    store: common.Store = None,
    server: common.Server = None,
    namespace: common.Namespace = None,
    output: common.OutputOption = common.Output.TABLE,
    verbose: common.Verbose = 0,
) -> None:
    """Show which settings hold, and where each came from: default, environment variable or flag.

    Every setting is an environment variable; a flag wins over it. Misspelled variables are refused.
    """
    from jobledger.settings.loading import explained, paths, value_at, variable
    from jobledger.settings.locations import data_folder, socket_path

    held = common.held(store=store, server=server, namespace=namespace, verbose=verbose, whole=True)
    derived = {
        "server": str(socket_path(held.settings.store)),
        "python": "python3 on the PATH",
        "history": "beside a log in a file",
        "controller.log": f"sqlite://{held.settings.store}",
        "controller.roles": "bridge,engine,projectors,front",
        "controller.leader_elect": "in a pod",
        "kafka.partitions": "12",
        "kafka.replication": "3",
    }
    rows: list[dict[str, Any]] = [
        {
            "setting": path,
            "value": _shown(value_at(held.settings, path)) or derived.get(path, ""),
            "from": held.origins[path],
            "variable": variable(path),
            "about": explained(path),
        }
        for path in paths()
    ]
    if output is not common.Output.TABLE:
        common.dump(rows, output)
        return
    titles = ("VARIABLE", "VALUE", "FROM")
    common.say(common.columns(titles, [(row["variable"], row["value"], row["from"]) for row in rows]))
    common.say()
    common.say(f"What pods write is kept in {data_folder(held.settings.store)}.")
    common.say("`jobledger config -o yaml` also says what each setting is for.")


def _shown(value: object) -> str:
    from datetime import timedelta

    from pydantic import SecretStr

    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return _url_shown(value)
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _url_shown(url: "SecretStr") -> str:
    """Without the password that may be in it; nothing of a URL that cannot be read."""
    from jobledger.wiring.history import shown, where_of
    from statemachine.errors import ConfigError

    try:
        where = where_of(url.get_secret_value())
    except ConfigError:
        return str(url)
    return shown(where)
