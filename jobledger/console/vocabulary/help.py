"""Words of the help page: what there is to do, as questions and answers, in the order of the page."""

from typing import Final

TOPICS: Final = (
    *("find", "status", "create", "check", "yaml", "import", "env", "pause", "scale", "delete"),
    *("history", "logs", "monitoring", "refresh", "elsewhere"),
)

HELP: Final[dict[str, tuple[str, str]]] = {
    "help.title": ("Help", "帮助"),
    "help.find": ("How do I find a job?", "如何查找 Job？"),
    "help.find.text": (
        "Type a part of its name, or filter by status, type, scheduler, queue or extended resource. "
        "Labels are typed as team=a (that value) or team (any value), several with commas. Values of "
        "one filter are alternatives, filters restrict each other. Every filter in use is a chip above "
        "the list; press it to remove it.",
        "输入名称的一部分，或按状态、类型、调度器、队列、扩展资源过滤。标签写作 team=a（指定值）或 "
        "team（任意值），多个标签用逗号分隔。同一过滤条件的多个值为“或”，不同过滤条件之间为“与”。正在使"
        "用的条件显示在列表上方，点击即可移除。",
    ),
    "help.status": ("What does the badge Error mean?", "“错误”标记是什么意思？"),
    "help.status.text": (
        "The job failed, or one of its replicas did and is being started again. Its tooltip is the "
        "message; the status Error among the filters finds all such jobs.",
        "Job 已失败，或其某个副本失败并正在重新启动。鼠标悬停可查看信息；在状态过滤条件中选择 Error 可"
        "找出所有这类 Job。",
    ),
    "help.create": ("How do I create a job?", "如何创建 Job？"),
    "help.create.text": (
        "Create, then the type. Command and arguments are one line each, split as a shell does: use "
        "quotation marks for what has spaces in it. Shared memory adds the volume that data loaders "
        "with several workers need.",
        "点击“创建”并选择类型。命令和参数各写一行，按 shell 规则拆分，含空格的内容请加引号。“共享内存"
        "”会添加多进程数据加载所需的存储卷。",
    ),
    "help.check": ("What is checked?", "系统会检查什么？"),
    "help.check.text": (
        "The rules of the job type, while you type and again on Create; mistakes stand at their "
        "fields. Remarks on top do not keep you from creating the job.",
        "输入时和点击“创建”时都会按该 Job 类型的规则检查，错误显示在对应字段旁。页面上方的提示不会妨碍创建。",
    ),
    "help.yaml": ("The form lacks a field. What now?", "表单中没有我需要的字段，怎么办？"),
    "help.yaml.text": (
        "Preview YAML, and write it there. Create makes exactly that text, in its canonical form; "
        "Apply to form goes back to the form, which keeps what it cannot show.",
        "点击“预览 YAML”，在其中填写。该页面的“创建”会以规范形式创建这段内容；“应用到表单”返回表单，表"
        "单无法显示的内容会被保留。",
    ),
    "help.import": ("How do I reuse a job?", "如何复用已有的 Job？"),
    "help.import.text": (
        "Clone in its menu, or Import in the form: a job by its name, a file, or a text. Older "
        "spellings are rewritten, and each is named. Secrets are not copied.",
        "使用其菜单中的“克隆”，或表单中的“导入”：可按名称选择已有 Job，也可使用文件或文本。旧写法会被改"
        "写并逐一提示。密钥不会被复制。",
    ),
    "help.env": ("Where do environment variables come from?", "环境变量的值从哪里来？"),
    "help.env.text": (
        "From what you type, or from a key of a ConfigMap or Secret. ConfigMaps and their keys are "
        "offered if you may list them. Secrets are never looked into: their names and keys are typed.",
        "可直接填写，也可引用 ConfigMap 或 Secret 的键。如果您有权列出 ConfigMap，系统会给出其名称和键"
        "供选择。系统从不读取 Secret，其名称和键需要手动输入。",
    ),
    "help.pause": ("What happens when a job is paused?", "暂停 Job 会发生什么？"),
    "help.pause.text": (
        "All its pods are deleted, and made anew when it is resumed. Training goes on from its own "
        "checkpoints.",
        "其所有 Pod 会被删除，恢复时重新创建；训练从其自己保存的检查点继续。",
    ),
    "help.scale": ("When can a job be scaled?", "什么时候可以伸缩 Job？"),
    "help.scale.text": (
        "When it is elastic and has not finished, between its fewest and its most replicas. Where an "
        "autoscaler decides the number, nobody else does.",
        "弹性训练且尚未结束的 Job 可以伸缩，范围为最小副本数到最大副本数。由自动伸缩器决定副本数的 Job "
        "不能手动伸缩。",
    ),
    "help.delete": ("What is lost when a job is deleted?", "删除 Job 会丢失什么？"),
    "help.delete.text": (
        "The job, its pods and their logs. Files in PVCs stay, and so does the job's history.",
        "Job、其 Pod 及日志会被删除。PVC 中的文件以及 Job 的历史记录会保留。",
    ),
    "help.history": ("Why did my job restart, or fail?", "Job 为什么重启或失败？"),
    "help.history.text": (
        "Its page History says so: every phase, replica and incident on one picture. Move the slider "
        "to see the job as it was at any moment.",
        "请查看其“历史”页：一张图上显示所有阶段、副本和事件。移动滑块可查看任意时刻的 Job。",
    ),
    "help.logs": ("Where are the logs?", "日志在哪里？"),
    "help.logs.text": (
        "Replicas, then Logs in the menu of the row. The window follows while the container runs, and "
        "searches the whole log.",
        "在“副本”页中，从该行菜单打开“日志”。容器运行时窗口会持续跟随，并可搜索全部日志。",
    ),
    "help.monitoring": ("What does a job use?", "Job 使用了多少资源？"),
    "help.monitoring.text": (
        "Its page Resource monitoring shows CPU, memory, devices, network and storage over time, if a "
        "source of metrics is configured.",
        "如已配置指标来源，其“资源监测”页会显示 CPU、内存、设备、网络和存储随时间的变化。",
    ),
    "help.refresh": ("Do I have to reload pages?", "需要手动刷新页面吗？"),
    "help.refresh.text": (
        "No. With Auto-refresh pages follow what happens, at least every five seconds; what you typed "
        "and unfolded stays.",
        "不需要。开启“自动刷新”后页面会随变化更新，至少每五秒一次；已输入和展开的内容会保留。",
    ),
    "help.elsewhere": ("Can programs do the same?", "程序也能做同样的事吗？"),
    "help.elsewhere.text": (
        "Everything shown here is JSON under /v1, and every job is a Kubernetes object: kubectl, and "
        "jobledger on the command line, see the same.",
        "这里显示的一切都可通过 /v1 以 JSON 获取；每个 Job 都是 Kubernetes 对象，kubectl 和 jobledger "
        "命令行看到的内容相同。",
    ),
    "help.elsewhere.link": (
        "Every request and answer of /v1 is described here (OpenAPI).",
        "/v1 的所有请求与响应的描述（OpenAPI）。",
    ),
}
