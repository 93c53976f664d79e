"""What is taken out of a manifest to make another job from it."""

from jobledger.console import drafts


def test_a_copy_leaves_behind_what_belongs_to_one_object_alone() -> None:
    job = {
        "apiVersion": "a/v1",
        "kind": "B",
        "metadata": {
            "name": "x",
            "namespace": "n",
            "uid": "1",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
        },
        "spec": {"s": 1},
        "status": {"phase": "Running"},
    }
    assert drafts.copied(job, "x-copy") == {
        "apiVersion": "a/v1",
        "kind": "B",
        "metadata": {"name": "x-copy", "namespace": "n", "labels": {"a": "b"}},
        "spec": {"s": 1},
    }


def test_texts_that_look_like_something_else_stay_texts() -> None:
    texts = {"a": "1e3", "b": "0o7", "c": "yes", "d": "1", "e": "null"}
    job = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": "x", "labels": texts},
        "spec": {},
    }
    assert drafts.parsed(drafts.text_of(job)).raw["metadata"]["labels"] == texts
