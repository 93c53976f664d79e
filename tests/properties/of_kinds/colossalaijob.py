"""ColossalAIJobs with nothing wrong in them, and what their users change."""

from typing import Any

from hypothesis import strategies as st

from tests.unit.kinds.build import Spec
from tests.unit.kinds.colossal import container, old_launcher, old_spec, old_workers, spec, workers

WORDS = st.sampled_from(["train.py", "-m", "--lr", "0.1", "a,b", "$(HOME)"])
OPTIONS = st.sampled_from([["--max_restarts=3"], ["--tee", "3"], ["--no-python"]])
ENV = st.lists(st.sampled_from(["A", "B", "PYTHONUNBUFFERED", "NCCL_DEBUG"]), max_size=3, unique=True)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Specs with nothing wrong in them, in either form."""
    own = {"env": [{"name": name, "value": "v"} for name in draw(ENV)]}
    script = draw(st.lists(WORDS, min_size=1, max_size=3))
    args = [word for option in draw(st.lists(OPTIONS, max_size=2)) for word in option]
    number, processes = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    rest: Spec = {}
    if draw(st.booleans()):
        rest["runPolicy"] = {"cleanUpWorkers": draw(st.booleans())}
    if draw(st.booleans()):
        rest["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    modes: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {}, optional={"pause": st.just({"enabled": True}), "debug": st.just({"enabled": True})}
        )
    )
    if modes:
        rest["runMode"] = modes
    if draw(st.booleans()):
        config = {"procPerWorker": processes, "script": script, "torchArgs": args}
        return old_spec(old_launcher(**own), old_workers(number), torch=config, **rest)
    worker = workers(number, container(**own), procPerWorker=processes, command=script, torchArgs=args)
    return spec(worker, launcher={"image": "colossalai:1", **own}, **rest)


EDITS = st.builds(lambda wish: {"runPolicy": {"cleanUpWorkers": wish}}, st.booleans())
