"""Words of resource monitoring; `metrics.*` say why a panel has no lines."""

from typing import Final

MONITORING: Final[dict[str, tuple[str, str]]] = {
    "monitoring.none": ("no metrics source configured", "未配置监测数据源"),
    "monitoring.empty": ("No data", "暂无数据"),
    "monitoring.unmeasured": ("Usage of this resource is not measured.", "该资源的使用量没有监测数据。"),
    "monitoring.request": ("Request", "请求值"),
    "monitoring.limit": ("Limit", "上限"),
    "monitoring.usage": ("Usage", "使用量"),
    "monitoring.receive": ("receive", "接收"),
    "monitoring.send": ("send", "发送"),
    "monitoring.read": ("read", "读取"),
    "monitoring.write": ("write", "写入"),
    "monitoring.network": ("Network bandwidth", "网络带宽"),
    "monitoring.storage": ("Storage bandwidth", "存储带宽"),
    "monitoring.most": ("at most", "最高"),
    "monitoring.more": ("and {count} more, which are lower", "以及另外 {count} 条较低的曲线"),
    "monitoring.again": ("Refresh", "刷新"),
    "monitoring.range": ("Time range", "时间范围"),
    "monitoring.range.all": ("All", "全部"),
    "monitoring.range.6h": ("6 h", "6 小时"),
    "monitoring.range.1h": ("1 h", "1 小时"),
    "monitoring.range.15m": ("15 min", "15 分钟"),
    "monitoring.by": ("Lines", "曲线"),
    "monitoring.by.type": ("Sum by type", "按类型汇总"),
    "monitoring.by.pod": ("Per pod", "按 Pod"),
    "metrics.late": (
        "The metrics source did not answer within {seconds} s.",
        "监测数据源在 {seconds} 秒内没有响应。",
    ),
    "metrics.unreachable": ("The metrics source cannot be reached: {why}", "无法访问监测数据源：{why}"),
    "metrics.large": (
        "The metrics source answers with more than {most}; choose a shorter time range.",
        "监测数据源返回的数据超过 {most}，请选择更短的时间范围。",
    ),
    "metrics.refused": ("The metrics source refuses the query: {why}", "监测数据源拒绝了查询：{why}"),
    "metrics.status": (
        "The metrics source answers with status {status}.",
        "监测数据源返回状态码 {status}。",
    ),
    "metrics.unreadable": (
        "The metrics source answers with something that is not Prometheus' HTTP API.",
        "监测数据源返回的内容不符合 Prometheus 的 HTTP API。",
    ),
}
