"""MPIJobs with nothing wrong in them, and what their users change."""

from typing import Any

from hypothesis import strategies as st

from tests.unit.kinds.build import Spec
from tests.unit.kinds.mpi import container, old_launcher, old_spec, old_workers, spec, workers

WORDS = st.sampled_from(["./walk", "--lr", "0.1", "a b", "$(HOME)", "-H"])
OPTIONS = st.sampled_from([["-N", "3"], ["--map-by", "ppr:2:node"], ["-x", "PATH"], ["-v"]])
ENV = st.lists(st.sampled_from(["A", "B", "PYTHONUNBUFFERED", "PATH"]), max_size=3, unique=True)
MCA = st.dictionaries(
    st.sampled_from(["btl", "pml", "a b"]), st.sampled_from(["^openib", "ob1", ""]), max_size=2
)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Specs with nothing wrong in them, in any form."""
    own = {"env": [{"name": name, "value": "v"} for name in draw(ENV)]}
    program = draw(st.lists(WORDS, min_size=1, max_size=3))
    options = [word for option in draw(st.lists(OPTIONS, max_size=2)) for word in option]
    number, mca = draw(st.integers(1, 4)), draw(MCA)
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
        item = old_workers(number)
        item["template"]["spec"]["containers"] = [container(**own)]
        config = {"mca": mca, "script": program, "extraArgs": options}
        return old_spec(old_launcher(), item, mpi=config, **rest)
    more: Spec = {"processesPerWorker": draw(st.integers(1, 8))} if draw(st.booleans()) else {}
    worker = workers(number, container(**own), cmd=program, extraMPIArgs=options, **more)
    return spec(worker, mca=mca, **rest)


EDITS = st.builds(lambda wish: {"runPolicy": {"cleanUpWorkers": wish}}, st.booleans())
