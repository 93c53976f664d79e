// The history and the logs of a job: a cursor that moves, a plot that can be clicked, lines that are added.
"use strict";

// ---- history ------------------------------------------------------------------------------------------------------

// A slider in use keeps the value that the hand gives it, whatever answers come in late. Of a link that has the focus the
// same would keep the words, and only them: "Resume" would then pause.
document.addEventListener("htmx:beforeSwap", () => {
  Idiomorph.defaults.ignoreActiveValue = Boolean(document.activeElement && document.activeElement.matches("input"));
});

// The fields of an entry, which were fetched when they were unfolded, stay while it is the same entry.
document.addEventListener("DOMContentLoaded", () => {
  Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, node) =>
    old.id !== "raw-entry" || !old.textContent || old.getAttribute("hx-get") !== node.getAttribute("hx-get");
});

function go(address) {
  // the link knows that what the hand asks for comes before what refreshes itself
  htmx.ajax("GET", address, {source: "#permalink", target: "#moment", swap: "morph:outerHTML"});
}

function addressAt(at, part = ".history") {
  const address = new URL(document.querySelector(part).dataset.history, location.href);
  address.searchParams.set("at", at);
  return address.pathname + address.search;
}

document.addEventListener("click", (event) => {
  const target = event.target.closest ? event.target : null;
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey || !document.querySelector(".history")) return;
  const mark = target.closest("a.tl-go");
  if (mark) {
    event.preventDefault();
    go(addressAt(mark.dataset.seq));
    return;
  }
  const plot = target.closest("svg.tl-plot");
  if (!plot) return;
  const box = plot.getBoundingClientRect();
  const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  const begin = Number(plot.dataset.begin), end = Number(plot.dataset.end);
  const at = begin + share * (end - begin);
  go(addressAt(plot.dataset.axis === "time" ? new Date(at * 1000).toISOString() : Math.floor(at)));
});

// The thumb stands where the cursor of the picture does; keys go from entry to entry, however close together these are.
const PACE = 120;
let aim = null;     // the entry that the keys have come to; answers may be behind it
let aimed = 0;      // when
let stepping = null;

function step(slider, key) {
  const last = Number(slider.dataset.last);
  const here = Date.now() - aimed < 1000 && aim ? aim : Number(document.getElementById("moment").dataset.seq);
  const to = {ArrowLeft: here - 1, ArrowDown: here - 1, ArrowRight: here + 1, ArrowUp: here + 1,
    PageDown: here - 10, PageUp: here + 10, Home: 1, End: last}[key];
  if (to === undefined) return false;
  const since = Date.now() - aimed;
  aim = Math.min(Math.max(to, 1), last);
  aimed = Date.now();
  if (!stepping) stepping = setTimeout(() => { stepping = null; go(addressAt(aim)); }, since > PACE ? 0 : PACE);
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "slider" || event.altKey || event.ctrlKey || event.metaKey) return;
  if (step(event.target, event.key)) event.preventDefault();
});

let held = false;  // by a hand, which the thumb follows until it lets go; its last value is sent by a "change"
document.addEventListener("pointerdown", (event) => { held = event.target.id === "slider"; });
document.addEventListener("change", (event) => { if (event.target.id === "slider") held = false; });
for (const end of ["pointerup", "pointercancel"])
  document.addEventListener(end, () => setTimeout(() => { held = false; }, 200));

// The moments that the hand passes, eight a second. htmx's own throttle would drop the "change" that follows at once, too.
let passing = false;
document.addEventListener("input", (event) => {
  if (event.target.id !== "slider" || passing) return;
  passing = true;
  setTimeout(() => { passing = false; }, 120);
  htmx.trigger(event.target, "slide");
});

// The moment has come: slider and cursor stand where it says, and its entry is marked, or the page with it asked for.
let fetching = null;

function moved() {
  const moment = document.getElementById("moment"), slider = document.getElementById("slider");
  if (!moment || !slider) return;
  const {cursor, last, place, words} = moment.dataset;
  Object.assign(slider.dataset, {last, place});
  if (!held) slider.value = place;
  slider.setAttribute("aria-valuetext", local(words));
  const line = document.querySelector("svg.tl-cursor");
  if (line.getAttribute("x") !== `${cursor || 100}%`) line.setAttribute("x", `${cursor || 100}%`);
  line.classList.toggle("tl-hidden", cursor === "");
  marked(moment.dataset.seq);
}

function marked(seq) {
  const entries = document.getElementById("entries"), row = document.getElementById(`entry-${seq}`);
  if (entries.dataset.current === seq) return;
  clearTimeout(fetching);
  if (!row) {  // soon, unless the hand goes on
    fetching = setTimeout(() => {
      htmx.ajax("GET", addressAt(seq, "#entries"), {source: "#entries", target: "#entries", swap: "morph:outerHTML"});
    }, 400);
    return;
  }
  for (const old of entries.querySelectorAll("tr.current")) {
    old.classList.remove("current");
    old.removeAttribute("aria-current");
  }
  row.classList.add("current");
  row.setAttribute("aria-current", "true");
  entries.dataset.current = seq;
  entries.setAttribute("hx-get", addressAt(seq, "#entries"));
}

function localTicks(root) {
  for (const tick of root.querySelectorAll("text.tl-time[data-at]")) {
    const at = new Date(tick.dataset.at);
    const length = tick.textContent.length;
    if (tick.dataset.done || isNaN(at)) continue;
    const style = length <= 5 ? {hour: "2-digit", minute: "2-digit", hour12: false}
      : length <= 8 ? {hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false}
      : length <= 10 ? {dateStyle: "short"}
      : {month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hour12: false};
    tick.textContent = at.toLocaleString(locale, style);
    tick.dataset.done = "1";
  }
}

// what pictures say in words has its instants in the browser's zone, too
const INSTANT = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g;

function local(text) {
  return text.replace(INSTANT, (_, day, time) => instants.format(new Date(`${day}T${time}Z`)));
}

function localTitles(root) {
  for (const title of root.querySelectorAll(".timeline title")) {
    const text = local(title.textContent);
    if (text !== title.textContent) title.textContent = text;
  }
}

// ---- replicas: the columns, kept by the server in a cookie ----------------------------------------------------------

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-replica-column]")) return;
  const chosen = [...document.querySelectorAll("[data-replica-column]:checked")].map((box) => box.value);
  const address = new URL(document.getElementById("piece").getAttribute("hx-get"), location.href);
  address.searchParams.set("columns", ["name", ...chosen].join(","));
  htmx.ajax("GET", address.pathname + address.search, {target: "#piece", swap: "morph:outerHTML"});
});

// ---- logs ---------------------------------------------------------------------------------------------------------

const MOST_LINES = 5000;

class LogWindow {
  constructor(box) {
    this.box = box;
    this.lines = document.getElementById("log-lines");
    this.open = document.getElementById("log-open");
    this.state = document.getElementById("log-state");
    this.end = box.dataset.end;
    this.fresh = Boolean(box.dataset.stream);
    this.box.scrollTop = this.box.scrollHeight;
    const hit = box.querySelector(".hit");
    if (box.dataset.q && hit && !box.dataset.live) hit.scrollIntoView({block: "center"});
  }

  follow(on) {
    want({log: on ? {id: String(Math.random()), address: this.box.dataset.follow, from: Number(this.end)} : null});
  }

  hear(type, data) {
    // whenever it begins, also by itself after a break, a stream begins with the lines that are shown already
    if (type === "begin") this.fresh = Boolean(this.box.dataset.stream);
    if (type === "log") this.add(data, data.end);
    if (type === "gone") {
      this.state.textContent = data.text;
      this.follow(false);
    }
  }

  add(news, end) {
    const atEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 40;
    if (this.fresh) {
      this.lines.replaceChildren();
      this.fresh = false;
    }
    const empty = document.getElementById("log-empty");
    if (empty && (news.lines.length || news.tail)) empty.remove();
    const added = document.createDocumentFragment();
    if (news.skipped) {
      added.append(this.line(this.box.dataset.skipped.replace("{bytes}", news.skipped), "skipped"));
      this.lines.classList.add("uncounted");
    }
    for (const text of news.lines.slice(-MOST_LINES)) added.append(this.line(text));
    this.lines.append(added);
    this.open.textContent = news.tail;
    this.end = end;
    const over = this.lines.children.length - MOST_LINES;
    if (over > 0) {
      for (let removed = 0; removed < over; removed++) this.lines.firstElementChild.remove();
      this.lines.start += over;
    }
    if (atEnd) this.box.scrollTop = this.box.scrollHeight;
    if (news.ended) {
      this.state.textContent = this.box.dataset.ended;
      this.follow(false);
    }
  }

  line(text, look) {
    const item = document.createElement("li");
    item.textContent = text;
    const sought = this.box.dataset.q;
    if (look) item.className = look;
    else if (sought && text.toLowerCase().includes(sought.toLowerCase())) item.className = "hit";
    return item;
  }

  async earlier(link) {
    const address = new URL(link.dataset.earlier, location.href);
    address.searchParams.set("before", link.dataset.before);
    const answer = await fetch(address);
    if (!answer.ok) return notify(`${answer.status} ${answer.statusText}`);
    const news = await answer.json();
    const height = this.box.scrollHeight;
    const added = document.createDocumentFragment();
    for (const text of news.lines) added.append(this.line(text));
    this.lines.prepend(added);
    if (news.first) this.lines.start = news.first;
    this.box.scrollTop += this.box.scrollHeight - height;
    link.dataset.before = news.begin;
    if (!news.begin) link.parentElement.remove();
  }
}

let shown = null;

function openLog() {
  const box = document.getElementById("log");
  if (!box || (shown && shown.box === box)) return;
  if (shown) shown.follow(false);
  shown = new LogWindow(box);
  const wrap = document.getElementById("log-wrap");
  if (!wrap.checked) localStorage.setItem("log-wrap", "off");  // by a hand that was quicker than this script
  wrap.checked = localStorage.getItem("log-wrap") !== "off";
  box.classList.toggle("wrap", wrap.checked);
  if (box.dataset.live) shown.follow(true);
}

document.addEventListener("log-news", ({detail}) => { if (shown) shown.hear(detail.type, detail.data); });
document.addEventListener("change", (event) => {
  if (event.target.id === "log-follow" && shown) shown.follow(event.target.checked);
  if (event.target.id === "log-wrap" && shown) {
    shown.box.classList.toggle("wrap", event.target.checked);
    localStorage.setItem("log-wrap", event.target.checked ? "on" : "off");
  }
  if (event.target.matches("[data-submit]")) event.target.form.submit();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("#log-earlier");
  if (!link || !shown) return;
  event.preventDefault();
  shown.earlier(link);
});

document.addEventListener("DOMContentLoaded", () => {
  localTicks(document);
  localTitles(document);
  moved();
  openLog();
  const tab = document.querySelector(".tabs [aria-current=page]");
  if (tab) tab.scrollIntoView({block: "nearest", inline: "nearest"});
});
document.addEventListener("htmx:afterSettle", ({detail}) => {
  const root = detail.elt.querySelector(".timeline") ? detail.elt : null;
  if (root) {
    localTicks(root);
    localTitles(root);
  }
  moved();
  openLog();
});
