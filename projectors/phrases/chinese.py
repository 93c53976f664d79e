"""The Chinese of every phrase, by its English; names in braces stand wherever they read well."""

from typing import Final

CHINESE: Final[dict[str, str]] = {
    # how the job stands
    "The job was deleted{by}{at}, while it was {phase}.": "Job 已{at}{by}被删除，当时处于 {phase}。",
    " at {at}": "于 {at} ",
    "It began with {replica}: {why}.": "起因是 {replica}：{why}。",
    "The job has succeeded.": "Job 已成功。",
    "The job has been paused{by} since {since}.": "Job 已{by}暂停，自 {since} 起。",
    "its creation": "创建时",
    "It is not known how the job is: the status of all its replicas is lost.": (
        "Job 的状态未知：无法获知其任何副本的状态。"
    ),
    "It is not known how the job is: the status of the replica that decides its result is lost.": (
        "Job 的状态未知：无法获知决定其结果的副本的状态。"
    ),
    "The job is starting: {how}": "Job 正在启动：{how}",
    "The job is resuming: {how}": "Job 正在恢复：{how}",
    "The job is running: {how}": "Job 正在运行：{how}",
    "its replica is up.": "其副本已就位。",
    "all {replicas} are up.": "全部 {replicas}均已就位。",
    "{up} of {replicas} up, without {down}.": "{replicas}中已有 {up} 个就位，尚缺 {down}。",
    "The next try is due at {due}.": "下次重试时间为 {due}。",
    "Nothing abnormal has happened.": "没有发生异常。",
    "1 abnormal incident": "1 次异常",
    "{count} abnormal incidents": "{count} 次异常",
    "On the way there: {incidents}.": "期间发生 {incidents}。",
    "So far: {incidents}, made good.": "至今发生 {incidents}，均已恢复。",
    "So far: {incidents}, not made good.": "至今发生 {incidents}，尚未恢复。",
    "So far: {incidents}, {open} of them not made good.": "至今发生 {incidents}，其中 {open} 次尚未恢复。",
    # who, how many, which
    " by {actor}": "由 {actor} ",
    " by {actor} (verified)": "由 {actor}（已验证）",
    " by {actor} (not verified)": "由 {actor}（未验证）",
    " (field manager {actor})": "由字段管理器 {actor} ",
    "{actor} (verified)": "{actor}（已验证）",
    "{actor} (not verified)": "{actor}（未验证）",
    "field manager {actor}": "字段管理器 {actor}",
    "1 replica": "1 个副本",
    "{count} replicas": "{count} 个副本",
    "{names} and {last}": "{names} 和 {last}",
    "{names} and {count} more": "{names} 以及另外 {count} 个",
    " ({what})": "（{what}）",
    # phases
    "The job was submitted{by} and is started with {replicas}.": "Job 已{by}提交，以 {replicas}启动。",
    "The job was created paused{by}.": "Job 已{by}以暂停状态创建。",
    "The job was paused{by}.": "Job 已{by}暂停。",
    "The job was resumed{by}; all replicas are started again.": "Job 已{by}恢复，所有副本将重新启动。",
    "The status of the replica that decides the job's result cannot be obtained.": (
        "无法获知决定 Job 结果的副本的状态。"
    ),
    "The status of none of the job's replicas can be obtained.": "无法获知 Job 任何副本的状态。",
    "The job had ended before its log begins, its status says: {phase}.": (
        "Job 在其日志开始之前已结束，状态为 {phase}。"
    ),
    "The job with {replicas} existed before its log begins; what happened before is not known.": (
        "含 {replicas}的 Job 在其日志开始之前已存在；此前发生的情况未知。"
    ),
    "The deletion of the job was asked for{by}; a finalizer holds it, and until it is gone nothing new is made.": (
        "Job 已{by}被请求删除；finalizer 阻止了删除，在其消失之前不再创建任何对象。"
    ),
    "It is not created again: the job is being deleted.": "不再创建：Job 正在被删除。",
    "the job is being deleted": "Job 正在被删除",
    "The job was refused: {why}": "Job 被拒绝：{why}",
    "its spec is invalid": "其 spec 无效",
    "The job has succeeded: a success rule is met by replicas that ended with exit code 0.": (
        "Job 已成功：以退出码 0 结束的副本满足了一条成功规则。"
    ),
    "The job has succeeded: the replica that decides its result ended with exit code 0.": (
        "Job 已成功：决定其结果的副本以退出码 0 结束。"
    ),
    "The job has succeeded: with {last} enough replicas have ended with exit code 0.": (
        "Job 已成功：随着 {last} 结束，已有足够的副本以退出码 0 结束。"
    ),
    "The job has failed: {why}": "Job 已失败：{why}",
    "it has nothing to run": "没有可运行的内容",
    "{primary}, which decides the result,": "决定结果的 {primary} ",
    "it was active for longer than its deadline of {deadline} s": "活动时间超过了 {deadline} 秒的期限",
    "{worker} ended before {primary} was created, which would have waited for it for ever": (
        "{worker} 在 {primary} 创建之前就已结束，{primary} 将永远等待它"
    ),
    "{who} was lost": "{who}已丢失",
    "{who} failed, and the restart budget is used up": "{who}失败，且重启次数已用尽",
    "{who} failed and is not restarted": "{who}失败，且不再重启",
    "{who} ended with {code} and is not restarted": "{who}以{code}结束，且不再重启",
    # replicas
    "{replica} failed: {why}.": "{replica} 失败：{why}。",
    "It is restarted ({number}).": "将重启（{number}）。",
    "restart {number}{of}": "第 {number} 次重启{of}",
    " of {limit}": "，上限 {limit} 次",
    "{replica} ended with exit code 0, and its restart policy starts it again ({number}).": (
        "{replica} 以退出码 0 结束，按重启策略再次启动（{number}）。"
    ),
    "It is not restarted: {why} ({left}).": "不再重启：{why}（{left}）。",
    "{replica} ended with exit code 0. It is not started again: {why} ({left}).": (
        "{replica} 以退出码 0 结束，不再启动：{why}（{left}）。"
    ),
    "the restart budget is used up": "重启次数已用尽",
    "its restart policy does not restart this": "其重启策略对此不重启",
    "restarts are not limited": "重启次数不受限制",
    "{after} of {limit} restarts left": "剩余重启次数 {after} / {limit}",
    "restarts left: {before}, now {after} (limit {limit})": "剩余重启次数由 {before} 变为 {after}（上限 {limit}）",
    "The job goes on: {primary} decides its result.": "Job 继续运行：其结果由 {primary} 决定。",
    "The job goes on: its success and failure rules decide its result.": "Job 继续运行：其结果由成功和失败规则决定。",
    "The job had ended before this was seen.": "发现此事时 Job 已经结束。",
    "{replica} was lost: {why}.": "{replica} 丢失：{why}。",
    "It is created again, at no cost to the restart budget.": "将重新创建，不计入重启次数。",
    "It is not created again: the {driver} counts on the pods that it was started with.": (
        "不再创建：{driver} 依赖其启动时的那些 Pod。"
    ),
    "Nothing follows from that: the job had no more use for it.": "这没有影响：Job 已不再需要它。",
    # causes
    'container "{name}"': "容器 {name} ",
    "its container": "其容器",
    " on node {node}": "（节点 {node}）",
    "node {node}": "节点 {node} ",
    "its node": "其节点",
    "{container} was killed for exceeding its memory limit (OOMKilled{code}){on}": (
        "{container}因超出内存上限被终止（OOMKilled{code}）{on}"
    ),
    ", exit code {code}": "，退出码 {code}",
    "{container} ended with {code}{reason}{on}": "{container}以{code}结束{reason}{on}",
    "exit code {code}": "退出码 {code} ",
    "exit code {code} ({signal})": "退出码 {code}（{signal}）",
    "an unknown exit code": "未知的退出码",
    ", reason {reason}": "，原因 {reason}",
    "its pod was preempted or evicted{on}{detail}": "其 Pod 被抢占或驱逐{on}{detail}",
    "{node} was lost{detail}": "{node}失联{detail}",
    "its pod{on} was deleted, and not by jobledger{detail}": "其 Pod{on}被删除，且不是由 jobledger 删除{detail}",
    "jobledger deleted its pod{on}": "jobledger 删除了其 Pod{on}",
    "the API server refused it{why}: {message}": "API server 拒绝了它{why}：{message}",
    "the API server refused one of its objects for good{why}: {message}": (
        "API server 永久拒绝了它的一个对象{why}：{message}"
    ),
    "this machine cannot start it: {message}": "这台机器无法启动它：{message}",
    "one of its pods can never be started here: {message}": "它的一个 Pod 在这里永远无法启动：{message}",
    "the deadline passed": "期限已过",
    "its pod{on} is gone, and nothing that was seen tells why{detail}": (
        "其 Pod{on}已消失，观察到的情况无法说明原因{detail}"
    ),
    # pods and writes
    "After the deadline the pods that had not ended are deleted, whatever the clean-up policy.": (
        "期限过后，无论清理策略如何，尚未结束的 Pod 都会被删除。"
    ),
    "Pods that had not been made yet are not made any more.": "尚未创建的 Pod 不再创建。",
    "Pods are deleted by clean-up policy {policy}.": "按清理策略 {policy} 删除 Pod。",
    '{kind} "{name}", which the job does not depend on, was refused: {error}': (
        "{kind} {name} 被拒绝（Job 不依赖它）：{error}"
    ),
    'The API server would not {verb} {kind} "{name}": {message}': (
        "API server 拒绝了对 {kind} {name} 的 {verb} 操作：{message}"
    ),
    # wishes
    "{changes} was changed{by}.": "{changes} 已{by}修改。",
    "{path} (now unset)": "{path}（现已清除）",
    "{path} (now {value})": "{path}（现为 {value}）",
    "A change{by} was ignored: {problems}.": "一项{by}修改被忽略：{problems}。",
    "The scale was changed from {before} to {after} replicas{by}.": "副本数量已{by}从 {before} 改为 {after}。",
    "The job was deleted{by}.": "Job 已{by}被删除。",
    "The job was deleted{by}, after it had ended.": "Job 在结束之后{by}被删除。",
    # what was observed
    "job, generation {generation}": "Job，第 {generation} 代",
    "job, generation {generation} by {actor}": "Job，第 {generation} 代，操作者 {actor}",
    "job, generation {generation}{by}": "Job，第 {generation} 代，{by}",
    "job gone{by}": "Job 已消失，{by}",
    "job gone": "Job 已消失",
    "job gone, by {actor}": "Job 已消失，操作者 {actor}",
    "pod {replica} {phase}": "Pod {replica} {phase}",
    "pod {replica} gone": "Pod {replica} 已消失",
    "pod {replica} unreadable": "Pod {replica} 的状态无法读取",
    "being deleted": "删除中",
    "timer {timer}": "定时器 {timer}",
    "{verb} {kind} {name} refused, {status}": "{verb} {kind} {name} 被拒绝，{status}",
    "{child} exists": "{child} 已存在",
    "{child} gone": "{child} 已消失",
    # what was decided
    "phase {phase}{why}": "进入阶段 {phase}{why}",
    "conditions: {changes}": "状况：{changes}",
    "no {condition}": "移除 {condition}",
    "timer {timer} set for {due}": "定时器 {timer} 设定于 {due}",
    "timer {timer} cleared": "定时器 {timer} 已取消",
    "refused: {verb} {kind} {name}, {count} in a row{why}": "被拒绝：{verb} {kind} {name}，连续 {count} 次{why}",
    "every child accepted": "所有对象均已被接受",
    "cleaned up ({policy}): {pods} pods deleted": "已清理（{policy}）：删除了 {pods} 个 Pod",
    "{job} admitted": "{job} 已接纳",
    "the log begins here: what was before, and restarts, are not known": "日志自此开始：此前的情况及重启次数未知",
    "the log begins here, what was before is not known; restarts: {number}": (
        "日志自此开始，此前的情况未知；重启次数：{number}"
    ),
    "the job is being deleted, and a finalizer holds it": "Job 正在被删除，但被 finalizer 阻止",
    "{replica} is not made again before {due}": "{replica} 在 {due} 之前不会重新创建",
    "back-off: the next pod of {replicas} is created later, because those before it ended or were lost in a row": (
        "回退等待：{replicas} 之前的 Pod 连续结束或丢失，稍后才创建下一个 Pod"
    ),
    "{replica} attempt {attempt} exists, and is taken over": "{replica} 第 {attempt} 次尝试的 Pod 已存在，已接管",
    "spec changed: {changes}": "spec 已修改：{changes}",
    "update ignored": "修改被忽略",
    "update ignored: {problems}": "修改被忽略：{problems}",
    "kept for {seconds} s after its end, to be deleted": "结束后已保留 {seconds} 秒，即将删除",
    "job deleted": "Job 已被删除",
    "job deleted by {actor}": "Job 已由 {actor} 删除",
    "nothing of the job is left": "Job 的所有对象均已消失",
    "labels removed": "标签已移除",
    "labels are now {labels}": "标签现为 {labels}",
    "{count} more": "另外 {count} 个",
    "{replica} attempt {attempt} requested": "{replica} 已请求第 {attempt} 次尝试",
    "{replica} created": "{replica} 已创建",
    "{replica} started": "{replica} 已启动",
    "{replica} started on {node}": "{replica} 已在节点 {node} 上启动",
    "{replica} is being deleted": "{replica} 删除中",
    "{replica} {what}": "{replica} 的{what}",
    "container {name} ended, exit code {code}": "容器 {name} 已结束，退出码 {code}",
    "{replica} ready": "{replica} 已就绪",
    "{replica} not ready": "{replica} 未就绪",
    "{replica} succeeded": "{replica} 已成功",
    "{replica} failed{why}": "{replica} 失败{why}",
    "{replica} ended{why}": "{replica} 已结束{why}",
    "{replica} cannot be reached": "{replica} 失联",
    "{replica} lost{why}": "{replica} 丢失{why}",
    "{replica} dismissed ({why})": "{replica} 被撤下（{why}）",
    "{replica} gone": "{replica} 已消失",
    "{replica} restart {number}": "{replica} 第 {number} 次重启",
    "{replica} restart {number} of {limit}": "{replica} 第 {number} 次重启，上限 {limit} 次",
    "{replica} not restarted": "{replica} 不再重启",
    "{replica} not restarted: budget used up": "{replica} 不再重启：重启次数已用尽",
    " ({what}, exit code {code})": "（{what}，退出码 {code}）",
    "application exit": "程序退出",
    "out of memory": "内存不足",
    "preempted or evicted": "被抢占或驱逐",
    "node lost": "节点失联",
    "deleted by someone": "被他人删除",
    "deleted by us": "由 jobledger 删除",
    "refused by the API": "被 API server 拒绝",
    "deadline": "期限已过",
    "evidence lost": "原因不明",
    "pause": "暂停",
    "scale": "伸缩",
    "clean-up": "清理",
    "job ended": "Job 已结束",
    # queues of Kueue
    "Kueue admitted the job (queue {queue}, ClusterQueue {cluster_queue}{flavors}).": (
        "Kueue 已准入 Job（队列 {queue}，ClusterQueue {cluster_queue}{flavors}）。"
    ),
    ", flavors {names}": "，资源风味 {names}",
    "Kueue took the job's quota away{why}.": "Kueue 收回了 Job 的配额{why}。",
    "Kueue preempted the job for the job with uid {preemptor}.": "Kueue 为 uid 为 {preemptor} 的 Job 抢占了本 Job。",
    "Kueue preempted the job.": "Kueue 抢占了 Job。",
    "The job was suspended: Kueue took its quota away.": "Job 已挂起：Kueue 收回了它的配额。",
    "The job was created suspended: it waits in queue {queue}.": "Job 以挂起状态创建：在队列 {queue} 中等待。",
    "The job has been suspended since {since}: it waits in queue {queue}.": (
        "Job 自 {since} 起挂起：在队列 {queue} 中等待。"
    ),
    "The job has been suspended since {since}: Kueue has deactivated its Workload.": (
        "Job 自 {since} 起挂起：Kueue 已停用它的 Workload。"
    ),
    "Kueue to admit the job to queue {queue}{why}.": "等待 Kueue 将 Job 准入队列 {queue}{why}。",
    "Kueue to admit the job to queue {queue}. Its Workload is not known here: Kueue's Events on the job say more.": (
        "等待 Kueue 将 Job 准入队列 {queue}。此处看不到它的 Workload：详见 Kueue 在 Job 上的 Event。"
    ),
    "Kueue's admission checks: quota is reserved for the job in ClusterQueue {cluster_queue}{why}.": (
        "等待 Kueue 的准入检查：已在 ClusterQueue {cluster_queue} 中为 Job 预留配额{why}。"
    ),
    "Kueue to resume the job, which it has admitted to queue {queue}.": (
        "等待 Kueue 恢复 Job，它已被准入队列 {queue}。"
    ),
    "Somebody to activate Workload {workload} again: Kueue has deactivated it{why}.": (
        "等待有人重新激活 Workload {workload}：Kueue 已将其停用{why}。"
    ),
    "queue {queue}: {stands}{why}": "队列 {queue}：{stands}{why}",
    "evicted by Kueue{why}": "被 Kueue 驱逐{why}",
    "waits for quota": "等待配额",
    "quota reserved, admission checks are not passed": "已预留配额，准入检查尚未通过",
    "admitted": "已准入",
    "deactivated": "已停用",
    "finished": "已结束",
    "Kueue knows the job no more": "Kueue 已不再知道该 Job",
    "Workload {name} gone": "Workload {name} 已消失",
    "Workload {name}": "Workload {name}",
    # what it waits for
    "Somebody to resume the job; it was paused{by}.": "等待有人恢复 Job；它已{by}暂停。",
    "The status of {primary}, which decides the result.": "等待决定结果的 {primary} 的状态。",
    "The status of the replicas that run.": "等待正在运行的副本的状态。",
    "The job has to end before its deadline.": "Job 须在期限之前结束。",
    "A refused write: it is tried again.": "有一次写入被拒绝，正在重试。",
    "It was refused {times} times in a row.": "已连续被拒绝 {times} 次。",
    "{replicas}: {what}": "{replicas}：{what}",
    "old pod is still there ({why}){after}": "旧 Pod 仍然存在（{why}）{after}",
    ", to be made anew": "，之后重新创建",
    "created once every worker is Running and Ready": "待所有 worker 均为 Running 且 Ready 后创建",
    "pod asked for, and not seen yet": "已请求 Pod，尚未看到",
    "pod exists, and does not run yet{waiting}": "Pod 已存在，尚未运行{waiting}",
    'container "{name}" waits: {reason}': "容器 {name} 在等待：{reason}",
}
