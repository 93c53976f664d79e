// The little that pages do beyond htmx: live refreshing, dialogs, notices, menus, times in the browser's zone.
"use strict";

// ---- times: written in UTC by the server, shown in the browser's zone -------------------------------------------

// the browser's own way to write the page's language: en-GB is not en-US
const written = document.documentElement.lang;
const locale = navigator.languages.find((language) => language.split("-")[0] === written.split("-")[0]) || written;

const instants = new Intl.DateTimeFormat(locale, {dateStyle: "medium", timeStyle: "medium"});  // dear to make

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (isNaN(at) || time.title === time.dateTime) continue;  // what comes anew from the server has no title
    time.textContent = instants.format(at);
    time.title = time.dateTime;
  }
}

// ---- live: whatever has hx-trigger="refresh from:body" loads itself again ---------------------------------------

const EVERY = 5000;
const HERE = 15000;  // ms between two words to the hub (`live.js`) that this page is still open
const wish = {live: false, log: null};
let send = null;

function refresh() {
  htmx.trigger(document.body, "refresh");
}

// What keeps the page from being up to date: of its requests "", which has the banner's own words, or their sentence.
const troubles = {request: null, stream: null};

function trouble(about, sentence) {
  const banner = document.getElementById("offline");
  troubles[about] = sentence;
  if (!banner) return;
  banner.dataset.usual = banner.dataset.usual || banner.textContent;
  const {request, stream} = troubles;
  const text = request === null ? stream : request || banner.dataset.usual;
  if (text !== null && banner.textContent !== text) banner.textContent = text;
  if (banner.hidden !== (text === null)) banner.hidden = text === null;
}

const isVisible = () => document.visibilityState === "visible";

function hear(message) {
  if ("state" in message) {
    const isLive = message.state === "live", late = document.getElementById("offline").dataset.late;
    trouble("stream", isLive || !(wish.live || wish.log) ? null : `${late} ${message.sentence}`.trim());
    if (isLive) trouble("request", null);
    else if (wish.live) refresh();  // which tells whether the server is away, or its stream alone
  } else if ("changed" in message) {
    if (isVisible()) refresh();  // a hidden page asks when it is shown
  } else if (wish.log && message.log === wish.log.id) {
    if (message.type === "log") wish.log.from = message.data.end;
    document.dispatchEvent(new CustomEvent("log-news", {detail: message}));
  }
}

function want(changed) {
  Object.assign(wish, changed);
  if (!wish.live && !wish.log) trouble("stream", null);
  if (!send && !wish.live && !wish.log) return;
  send = send || reach(hear);
  send({...wish, visible: isVisible()});
}

document.addEventListener("visibilitychange", () => {
  want({});
  if (!isVisible() || !wish.live) return;
  refresh();
});
window.addEventListener("pagehide", () => { if (send) send(null); });
window.addEventListener("pageshow", (event) => { if (event.persisted) want({}); });
setInterval(() => { if (isVisible()) want({}); }, HERE);

// A proxy may let no stream through, and of what the cluster says alone no stream tells.
setInterval(() => { if (wish.live && isVisible()) refresh(); }, EVERY);

function autoRefresh() {
  const box = document.getElementById("auto");
  if (!box) return;
  box.checked = localStorage.getItem("auto-refresh") !== "off";
  box.addEventListener("change", () => {
    localStorage.setItem("auto-refresh", box.checked ? "on" : "off");
    want({live: box.checked});
    if (box.checked) refresh();
  });
  document.getElementById("refresh").addEventListener("click", (event) => {
    if (!document.querySelector("[hx-trigger*='refresh from:body']")) return;
    event.preventDefault();
    refresh();
  });
  want({live: box.checked});
}

// ---- notices ------------------------------------------------------------------------------------------------------

function notify(text) {
  const notice = document.getElementById("notice-template").content.cloneNode(true);
  notice.querySelector("p").textContent = text;
  document.getElementById("notices").append(notice);
}

// ---- dialogs: what htmx loads into #dialog is shown as one --------------------------------------------------------

let opener = null;  // what the focus goes back to: the link itself is in a menu that has closed

function closeDialog() {
  const dialog = document.getElementById("dialog");
  if (dialog.open) dialog.close();
}

// ---- wiring -------------------------------------------------------------------------------------------------------

document.addEventListener("DOMContentLoaded", () => {
  // attributes that belong to the user, not to the server, survive a refresh: data-keep="open hidden"
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
    !(node.dataset && (node.dataset.keep || "").split(" ").includes(name));
  document.getElementById("dialog").addEventListener("close", () => {
    if (opener && opener.isConnected) opener.focus();
  });
  localTimes(document);
  autoRefresh();
});

// What a hand chose before the scripts had loaded counts as well. A difference can only come from a hand: these forms take
// nothing over from an earlier visit (autocomplete="off").
document.addEventListener("DOMContentLoaded", () => {
  for (const control of document.querySelectorAll("form[method=get][autocomplete=off] :is(select, [type=checkbox])")) {
    const sent = control.options && (control.querySelector("[selected]") || control.options[0]);
    if (sent ? !sent.selected : control.checked !== control.defaultChecked)
      control.dispatchEvent(new Event("change", {bubbles: true}));
  }
});

document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = document.querySelector("meta[name=csrf-token]").content;
});

// What somebody chose stays: a refresh that had to wait for it is made with the address that it brought, and one that was
// under way before it comes too late.
const chosen = new WeakMap();  // how often an element has become something else than a refresh of itself

// What a refresh brought, and from where: asked for again, it comes only if it is something else.
const tags = new WeakMap();

const isRefresh = (request) => Boolean(request && request.triggeringEvent) && request.triggeringEvent.type === "refresh";

document.addEventListener("htmx:configRequest", ({detail}) => {
  if (!isRefresh(detail)) return;
  detail.path = detail.elt.getAttribute("hx-get");
  detail.chosen = chosen.get(detail.target);
  const known = tags.get(detail.target);
  if (known && known.path === detail.path) detail.headers["If-None-Match"] = known.tag;
});
document.addEventListener("htmx:beforeSwap", ({detail}) => {
  const {requestConfig, target, xhr} = detail;
  if (xhr.status < 400) tags.delete(target);
  if (xhr.status === 304) trouble("request", null);
  if (isRefresh(requestConfig) && xhr.getResponseHeader("ETag"))
    tags.set(target, {path: requestConfig.path, tag: xhr.getResponseHeader("ETag")});
  if (!isRefresh(requestConfig)) chosen.set(target, (chosen.get(target) || 0) + 1);
  else if (requestConfig.chosen !== chosen.get(requestConfig.target)) {
    detail.shouldSwap = false;
    tags.delete(target);
    refresh();
  }
});
document.addEventListener("htmx:afterSettle", (event) => {
  localTimes(event.detail.elt.isConnected ? event.detail.elt : document);
  trouble("request", null);
});
document.addEventListener("htmx:sendError", () => trouble("request", ""));
document.addEventListener("htmx:beforeSwap", (event) => {
  const {xhr, requestConfig, serverResponse} = event.detail;
  if (xhr.status < 400 || !isRefresh(requestConfig)) return;
  // what refreshes itself would fail so again in a few seconds: the banner says it once, and what is there stays
  event.detail.shouldSwap = false;
  const said = new DOMParser().parseFromString(serverResponse, "text/html").querySelector(".notice p, .bad-news");
  trouble("request", said ? said.textContent.trim() : "");
});
document.addEventListener("htmx:afterSwap", (event) => {
  const dialog = document.getElementById("dialog");
  if (event.detail.target === dialog && !dialog.open) dialog.showModal();
});
document.addEventListener("notice", (event) => { closeDialog(); notify(event.detail.value); });

document.addEventListener("click", (event) => {
  const target = event.target.closest ? event.target : event.target.parentElement;
  if (target.closest("[data-dismiss]")) target.closest(".notice").remove();
  if (target.closest("[data-close]")) { event.preventDefault(); closeDialog(); }
  if (target === document.getElementById("dialog")) closeDialog();
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (!menu.contains(target) || target.closest("a, button:not([aria-haspopup])")) menu.open = false;
  if (target.closest("[hx-target='#dialog']") && !target.closest("dialog")) {
    const menu = target.closest("details.menu");
    opener = menu ? menu.querySelector("summary") : target.closest("a, button");
  }
  const expand = target.closest("[data-expand]");
  if (expand) {
    const row = document.getElementById(expand.getAttribute("aria-controls"));
    row.hidden = !row.hidden;
    expand.setAttribute("aria-expanded", String(!row.hidden));
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// ---- the list: a job a card wherever its row does not fit, which depends on columns, names and language ------------

function cards() {
  const link = document.getElementById("cards");
  if (!link) return;
  const table = document.querySelector("table.jobs");
  link.media = link.dataset.media = link.dataset.media || link.media;
  if (table && table.offsetWidth > table.parentElement.clientWidth) link.media = "all";
}

document.addEventListener("DOMContentLoaded", cards);
document.addEventListener("htmx:afterSettle", cards);
window.addEventListener("resize", cards);

// ---- the columns of the list: kept by the server in a cookie ------------------------------------------------------

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-column]")) return;
  const chosen = [...document.querySelectorAll("[data-column]:checked")].map((box) => box.value);
  const asked = new URL(document.getElementById("jobs").getAttribute("hx-get"), location.href);
  asked.searchParams.set("columns", ["name", ...chosen].join(","));
  htmx.ajax("GET", asked.pathname + asked.search, {target: "#jobs", swap: "morph:outerHTML"});
});

// ---- the form: what was typed is checked while typing, and only fields that were touched complain -----------------

const touched = new Set();
let checking = null;

function check(event) {
  if (!event.target.closest || !event.target.closest("form#editor") || !event.target.name) return;
  touched.add(event.target.name);
  clearTimeout(checking);
  checking = setTimeout(() => htmx.trigger(document.body, "check"), event.type === "input" ? 500 : 50);
}

document.addEventListener("input", check);
document.addEventListener("change", check);
document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.elt.id === "checker") event.detail.parameters["touched"] = [...touched].join("\n");
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.elt.id !== "checker") return;
  for (const list of document.querySelectorAll("#editor .errors")) {
    const about = `#editor [aria-describedby~="${CSS.escape(list.id)}"]`;
    for (const input of document.querySelectorAll(about))
      if (list.childElementCount) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
  }
});

// ---- where a variable comes from: of ConfigMaps names and keys are offered, of Secrets nothing is known -----------

function offerKeys(input) {
  const [row, name] = [input.name.replace(/\.[a-z]+$/, ""), input.name.split(".").pop()];
  const other = (which) => document.getElementById(`f-${row}.${which}`);
  if (!other("source") || !other("from")) return;
  const offered = name === "from" ? "config-maps" : `keys-${other("from").value.trim()}`;
  if (other("source").value === "configMapKeyRef" && document.getElementById(`offers-${offered}`))
    input.setAttribute("list", `offers-${offered}`);
  else input.removeAttribute("list");
}

const REFERENCE = ".item input[name$='.from'], .item input[name$='.key']";
document.addEventListener("focusin", (event) => {
  if (event.target.matches && event.target.matches(REFERENCE)) offerKeys(event.target);
});
document.addEventListener("change", (event) => {
  if (!event.target.matches("select[name$='.source']")) return;
  for (const input of event.target.closest(".item").querySelectorAll(REFERENCE)) offerKeys(input);
});

// ---- files and the clipboard --------------------------------------------------------------------------------------

document.addEventListener("change", async (event) => {
  if (!event.target.matches("input[type=file][data-into]") || !event.target.files.length) return;
  const into = document.getElementById(event.target.dataset.into);
  into.value = await event.target.files[0].text();
  into.dispatchEvent(new Event("input", {bubbles: true}));  // as if it had been typed: it is checked
});
document.addEventListener("click", (event) => {
  const copy = event.target.closest && event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
});
