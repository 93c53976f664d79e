"""Words of what can be done with a job, of the questions before it, and of what is said behind it."""

from typing import Final

ACTIONS: Final[dict[str, tuple[str, str]]] = {
    "action.details": ("Details", "详情"),
    "action.yaml": ("View YAML", "查看 YAML"),
    "action.clone": ("Clone", "克隆"),
    "action.pause": ("Pause", "暂停"),
    "action.resume": ("Resume", "恢复"),
    "action.scale": ("Scale", "伸缩"),
    "action.policy": ("Edit run policy", "编辑运行策略"),
    "action.delete": ("Delete", "删除"),
    "ask.pause": ("Pause {kind} {name}?", "暂停 {kind} {name}？"),
    "ask.resume": ("Resume {kind} {name}?", "恢复 {kind} {name}？"),
    "ask.scale": ("Scale {kind} {name}", "伸缩 {kind} {name}"),
    "ask.policy": ("Run policy of {kind} {name}", "{kind} {name} 的运行策略"),
    "ask.delete": ("Delete {kind} {name}?", "删除 {kind} {name}？"),
    "ask.pause.text": ("All replicas will be deleted.", "所有副本将被删除。"),
    "ask.resume.text": ("All replicas will be created again.", "所有副本将被重新创建。"),
    "ask.queue": (
        "Kueue decides when the job runs (queue {queue}): it resumes a job that it has admitted, and suspends one "
        "that it has not.",
        "Job 何时运行由 Kueue 决定（队列 {queue}）：已准入的 Job 会被它恢复，未准入的会被它挂起。",
    ),
    "ask.scale.text": ("Between {low} and {most} replicas.", "副本数量介于 {low} 和 {most} 之间。"),
    "ask.scale.label": ("Replicas", "副本数量"),
    "ask.policy.text": (
        "Changes count from now on; what has been decided stays decided.",
        "修改从现在起生效，已做出的处理不会改变。",
    ),
    "ask.delete.text": (
        "The job object and its pods go, with what the cluster keeps of them: logs, Events, monitoring. "
        "Files in PVCs stay.",
        "Job 对象及其 Pod 将被删除，集群保存的日志、Kubernetes 事件和监测数据会随之丢失，PVC 中的文件会保留。",
    ),
    "ask.delete.history": (
        "Its history stays in the log, with the reason of every restart, failure and pause. It can be read later on",
        "其历史会保留在日志中，包括每次重启、失败和暂停的原因。之后可在以下位置查看：",
    ),
    "ask.delete.page": ("the job's page", "该 Job 的页面"),
    "ask.delete.or": (", and by", "，或使用命令"),
    "ask.delete.free": (
        "A finished job holds no compute resources; deleting it frees none.",
        "已结束的 Job 不占用计算资源，删除它不会释放资源。",
    ),
    "ask.delete.left": (
        "The job has finished, but these replicas still run and will be ended: {pods}",
        "Job 已结束，但以下副本仍在运行，将被终止：{pods}",
    ),
    "conflict": (
        "The job was changed by someone else; reload and try again",
        "该 Job 已被他人修改，请重新加载后再试",
    ),
    "conflict.reload": ("Reload", "重新加载"),
    "yaml.title": ("YAML of {kind} {name}", "{kind} {name} 的 YAML"),
    "yaml.copy": ("Copy", "复制"),
    "yaml.download": ("Download", "下载"),
    "done.created": ("{kind} {name} has been created.", "{kind} {name} 已创建。"),
    "done.pause": ("{kind} {name} is being paused.", "{kind} {name} 正在暂停。"),
    "done.resume": ("{kind} {name} is being resumed.", "{kind} {name} 正在恢复。"),
    "done.scale": ("{kind} {name} is being scaled.", "{kind} {name} 正在伸缩。"),
    "done.policy": ("The run policy of {kind} {name} has been changed.", "{kind} {name} 的运行策略已修改。"),
    "done.delete": ("{kind} {name} is being deleted.", "{kind} {name} 正在删除。"),
}
