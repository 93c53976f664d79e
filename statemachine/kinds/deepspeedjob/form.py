"""The form of a DeepSpeedJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.t9k.form import t9k_form
from statemachine.schema.form import FieldLabels

LABELS: Final[FieldLabels] = {
    "spec.config": ("Training", "训练"),
    "slotsPerWorker": ("Slots per worker", "每个 worker 的 slot 数"),
    "run": ("What to run", "运行方式"),
    "localRank": ("Local rank", "Local rank"),
    "autotune": ("Autotune", "自动调优"),
    "otherArgs": ("Other arguments", "其他参数"),
    "customCommand": ("Custom command", "自定义命令"),
    "disableCustomEnv": ("Keep environment variables back", "不传递环境变量"),
    "spec.config.run.python": ("Python script", "Python 脚本"),
    "spec.config.run.module": ("Python module", "Python 模块"),
    "spec.config.run.exec": ("Program", "可执行程序"),
}

CHINESE: Final[dict[str, str]] = {
    "The workers. When worker-0 ends, the job ends.": "各 worker。worker-0 结束时 Job 结束。",
    "Number of workers; ignored in elastic training.": "worker 数量；弹性训练时忽略。",
    "How to run. Required unless in debug mode.": "运行方式。除调试模式外必填。",
    (
        "Processes per worker. Default: the number of nvidia.com/gpu in the limits of the training "
        "container, else 1."
    ): "每个 worker 的进程数。默认：训练容器上限中 nvidia.com/gpu 的数量，否则为 1。",
    "What is started: exactly one of python, module and exec.": "启动什么：python、module、exec 中恰好一项。",
    "A Python script and its arguments: a list, or a string with all of it.": (
        "Python 脚本及其参数：列表，或包含全部内容的字符串。"
    ),
    "A Python module and its arguments: a list, or a string with all of it.": (
        "Python 模块及其参数：列表，或包含全部内容的字符串。"
    ),
    "A program and its arguments: a list, or a string with all of it.": (
        "可执行程序及其参数：列表，或包含全部内容的字符串。"
    ),
    "Hand the local rank to the program as an argument, too (deepspeed --no_local_rank).": (
        "同时将 local rank 作为参数传给程序（deepspeed --no_local_rank）。"
    ),
    "Search for good hyperparameters. tune: search only. run: search, then train with them.": (
        "搜索合适的超参数。tune：仅搜索。run：搜索后用其训练。"
    ),
    "Further options of deepspeed, but for those that other fields or the controller set.": (
        "deepspeed 的其他选项，不含由其他字段或控制器设置的选项。"
    ),
    (
        "A shell command that worker-0 runs instead of deepspeed; of the other fields only "
        "slotsPerWorker counts then."
    ): "worker-0 代替 deepspeed 运行的 shell 命令；此时其他字段中仅 slotsPerWorker 有效。",
    (
        "Do not hand the environment variables of the training container on to the processes that "
        "deepspeed starts over SSH."
    ): "不将训练容器的环境变量传给 deepspeed 通过 SSH 启动的进程。",
    "Let the number of workers change; every change starts all of them anew.": (
        "允许 worker 数量变化；每次变化都会重新启动所有 worker。"
    ),
}

FORM: Final = t9k_form(LABELS, CHINESE, first=("config",), usual=("config",))
