"""Every kind of fault that the simulated world knows: its name, what it is, and how it is drawn.

Whatever happens is counted under its name (`World.happened`), so that a run can say what it has met.
"""

from enum import Enum, auto
from typing import Final, NamedTuple


class Drawn(Enum):
    """How a fault is drawn."""

    ODDS = auto()
    """Each call that could meet it does so with a chance that the seed draws."""
    ACTION = auto()
    """It is one of the things that happen every few seconds."""
    FOLLOWS = auto()
    """Of an action, or of the family of worlds."""


class Fault(NamedTuple):
    """What happens, and how it is drawn."""

    what: str
    drawn: Drawn


_ODDS, _ACTION, _FOLLOWS = Drawn.ODDS, Drawn.ACTION, Drawn.FOLLOWS

FAULTS: Final[dict[str, Fault]] = {
    # the process
    "crash": Fault("a process dies in the middle of a call", _ODDS),
    "killed": Fault("the controller is killed (SIGKILL)", _ACTION),
    "stopped": Fault("the controller is stopped in order (SIGTERM)", _ACTION),
    "second_controller": Fault("another controller starts while the first lives on for a while", _ACTION),
    "part_killed": Fault("one of bridge, engine, projectors is killed", _ACTION),
    "part_stopped": Fault("one of them is stopped in order", _ACTION),
    "part_away": Fault("a process is killed, and away for up to two minutes", _ACTION),
    "frozen": Fault("a process is stopped (SIGSTOP) for up to a minute", _ACTION),
    "crash_loop": Fault("a process dies again and again right after its start", _ACTION),
    "second_bridge": Fault("a second bridge observes the same cluster", _ACTION),
    "clock_jump": Fault("the clock is put forward or back", _ACTION),
    "skew": Fault("the clock of one process is off", _ACTION),
    # the log and what stands beside it
    "log_fails": Fault("a call of the log does nothing, and fails", _ODDS),
    "log_lost_reply": Fault("an append is durable, and fails", _ODDS),
    "log_down": Fault("the log is out of reach for a while", _ACTION),
    "inbox_lost_reply": Fault("observations are in the inbox, and the put fails", _ODDS),
    "snapshots_deleted": Fault("the snapshots are deleted", _ACTION),
    "snapshots_older": Fault("earlier snapshots are put back", _ACTION),
    "snapshots_newer": Fault("the snapshots have the state version of a newer release", _ACTION),
    "snapshots_damaged": Fault("the snapshots are cut off", _ACTION),
    "snapshots_unsealed": Fault("some snapshots do not hold against the key", _ACTION),
    "newer_cause": Fault("a newer release decided an observation that this one does not know", _ACTION),
    "newer_event": Fault("a newer release wrote an event that this one does not know", _ACTION),
    "older_history": Fault("the log begins with a history of an older policy", _FOLLOWS),
    # brokers
    "died_at_request": Fault("a process dies at a request to the brokers", _ODDS),
    "suspended": Fault("a process stands still (SIGSTOP), and others may take over", _ACTION),
    "cut_off": Fault("a process reaches no broker for a while", _ACTION),
    "brokers_away": Fault("the brokers are away for a while", _ACTION),
    "owner_fenced": Fault("somebody else becomes the writer of a partition, for a moment", _ACTION),
    "compacted": Fault("the brokers compact the snapshots", _ACTION),
    # the API server
    "unavailable": Fault("a call is not answered, and does nothing", _ODDS),
    "lost_reply": Fault("a write has effect, and is not answered", _ODDS),
    "done_late": Fault("a create that timed out has effect seconds later", _ODDS),
    "unauthorized": Fault("401", _ODDS),
    "throttled": Fault("429 with Retry-After", _ODDS),
    "server_error": Fault("500", _ODDS),
    "invalid": Fault("a write is refused for good: 422", _ODDS),
    "quota": Fault("a create or a deletion is refused by a quota: 403", _ODDS),
    "conflict": Fault("a create is refused although the name is free: 409", _ODDS),
    "webhook_down": Fault("an admission webhook cannot be asked: 500", _ODDS),
    "webhook_denies": Fault("an admission webhook denies a create: 403", _ODDS),
    "token_expired": Fault("every call is answered 401 for a while", _ACTION),
    "overload": Fault("every call is answered 429 for a while", _ACTION),
    "no_leader": Fault("every call is answered 500 for a while", _ACTION),
    "webhook_outage": Fault("the admission webhook is away for a while", _ACTION),
    "policy": Fault("the admission webhook denies every create for a while", _ACTION),
    "cluster_down": Fault("the API server is out of reach for a while", _ACTION),
    "create_denied": Fault("pods may not be created, for minutes", _ACTION),
    "delete_denied": Fault("pods may not be deleted, for minutes", _ACTION),
    # watches and reads
    "expired": Fault("a watch ends: 410", _ODDS),
    "watches_dropped": Fault("all watches end: 410", _ACTION),
    "late": Fault("a change reaches a watch late, and so out of order", _ODDS),
    "twice": Fault("a change reaches a watch twice", _ODDS),
    "silent": Fault("a watch brings nothing any more, and its socket stays open", _ODDS),
    "mute_watches": Fault("all watches fall silent", _ACTION),
    "no_bookmarks": Fault("a watch without bookmarks is too far behind after a quiet time", _ODDS),
    "stale_list": Fault("the list of a watch is old when it arrives", _ODDS),
    "stale_reads": Fault("what a job owns is read as it was a moment ago", _ODDS),
    "observed_again": Fault("something observed long ago is delivered again", _ACTION),
    # pods, nodes, people
    "pod_deleted": Fault("somebody deletes a pod", _ACTION),
    "pod_removed": Fault("somebody deletes a pod by force, with its finalizers", _ACTION),
    "pod_evicted": Fault("the kubelet evicts a pod", _ACTION),
    "pod_ended": Fault("the containers of a pod end now", _ACTION),
    "sight_lost": Fault("the phase of a pod is Unknown, or senseless", _ACTION),
    "node_lost": Fault("a node is not heard of, and its pods are deleted", _ACTION),
    "node_back": Fault("a lost node comes back, and does what it was asked", _FOLLOWS),
    "node_gone": Fault("a lost node never comes back: its pods are collected", _FOLLOWS),
    "namespace_ends": Fault("the namespace is terminated, with all that is in it", _ACTION),
    "pod_name_taken": Fault("a pod that is not ours has the name of a replica", _ACTION),
    "owner_stripped": Fault("a pod loses its owner references", _ACTION),
    "labels_stripped": Fault("and its labels", _FOLLOWS),
    "pod_relabelled": Fault("a pod loses one label, or has another value for it", _ACTION),
    "job_relabelled": Fault("a user changes the labels of a job", _ACTION),
    "service_deleted": Fault("somebody deletes a Service", _ACTION),
    "name_taken": Fault("a Service that is not ours has the name of one of ours", _FOLLOWS),
    "tensorboard_deleted": Fault("somebody deletes a TensorBoard", _ACTION),
    # the database of the history
    "database_fails": Fault("a transaction fails, and does nothing", _ODDS),
    "database_lost_reply": Fault("a transaction is durable, and fails", _ODDS),
    "database_locked": Fault("another writer holds the database for a while", _ACTION),
    "database_slow": Fault("the database takes seconds for every call, for a while", _ACTION),
    "database_restored": Fault("an earlier copy of the database is put back", _ACTION),
}
