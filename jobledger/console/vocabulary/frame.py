"""Words of the frame around every page."""

from typing import Final

FRAME: Final[dict[str, tuple[str, str]]] = {
    "frame.product": ("Job Manager", "Job Manager"),
    "frame.skip": ("Skip to the content", "跳到主要内容"),
    "frame.navigation": ("Navigation", "导航"),
    "frame.breadcrumb": ("Breadcrumb", "路径"),
    "frame.tools": ("Where you are", "当前位置"),
    "frame.jobs": ("Job", "Job"),
    "frame.about": ("About", "关于"),
    "frame.help": ("Help", "帮助"),
    "frame.language": ("Language", "语言"),
    "frame.refresh": ("Refresh", "刷新"),
    "frame.auto": ("Auto-refresh", "自动刷新"),
    "frame.offline": (
        "The server does not answer. What you see may be out of date; the page goes on asking.",
        "服务器没有响应，页面内容可能已过时；系统会不断重试。",
    ),
    "frame.not-live": (
        "This page is not live: it asks the server every five seconds, so changes come late.",
        "此页面不是实时的：变化不会立即推送，页面每五秒查询一次。",
    ),
    "phase.degraded": ("degraded", "部分副本异常"),
    "phase.lost": ("{count} replicas failed or out of sight", "{count} 个副本失败或失去联系"),
    "phase.lost-one": ("1 replica failed or out of sight", "1 个副本失败或失去联系"),
    "frame.close": ("Close", "关闭"),
    "frame.cancel": ("Cancel", "取消"),
    "frame.back": ("Back to the list", "返回列表"),
    "frame.failed": ("That did not work", "操作未成功"),
    "about.title": ("About", "关于"),
    "about.version": ("Version", "版本"),
    "about.namespace": ("Namespace", "命名空间"),
    "about.all": ("all", "全部"),
    "about.kinds": ("Job types", "Job 类型"),
    "about.api": ("HTTP API", "HTTP API"),
    "about.api.link": ("Description (OpenAPI)", "描述（OpenAPI）"),
}
