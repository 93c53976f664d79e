// One stream from the server for all pages of a browser, which opens six connections and no more over HTTP/1.1. It lives in a
// SharedWorker; where there is none, in one of the pages, which the others reach through a BroadcastChannel. This file is
// the worker's script, and that of every page.
"use strict";

const AGAIN = 1000;    // ms from a failure to the next attempt, where the server says nothing else
const SILENT = 25000;  // ms without the server's heartbeat, after which a stream is given up
const LEFT = 45000;    // ms without a word of a page, after which it is held to be closed

// ---- the hub: what pages want, and the stream that gives it to them ------------------------------------------------

class Hub {
  // a page says {visible, live, log: {id, address, from} | null}; it hears {state, sentence}, {changed}, {log: id, type, data}
  constructor(address) {
    this.address = address;
    this.pages = new Map();
    this.stream = null;
    this.state = null;
    this.waiting = null;
    setInterval(() => this.settle(), LEFT);
  }

  say(key, wish, tell) {
    const before = this.pages.get(key);
    const log = before && before.log && wish.log && before.log.id === wish.log.id ? before.log : wish.log;
    this.pages.set(key, {...wish, log, tell, at: Date.now()});
    const isNew = !before || before.live !== wish.live || before.log !== log || before.visible !== wish.visible;
    if (this.state && isNew) tell(this.state);
    this.settle();
  }

  leave(key) {
    this.pages.delete(key);
    this.settle();
  }

  settle() {
    for (const [key, page] of this.pages)
      if (page.visible && Date.now() - page.at > LEFT) this.pages.delete(key);
    const listening = [...this.pages.values()].filter((page) => page.visible && (page.live || page.log));
    if (!listening.length) return this.close();
    const logs = listening.map((page) => page.log).filter(Boolean);
    // a log that nobody follows any more does no harm; one that is missing is worth another stream
    if (!this.stream || logs.some((log) => !this.stream.logs.includes(log))) this.open(logs);
  }

  close() {
    clearTimeout(this.waiting);
    if (this.stream) this.stream.stop.abort();
    this.stream = this.waiting = this.state = null;
  }

  open(logs) {
    if (this.waiting) return;
    if (this.stream) this.stream.stop.abort();
    this.stream = {logs, stop: new AbortController(), began: 0};
    this.read(this.stream);
  }

  async read(stream) {
    let trouble = {state: "away", sentence: ""}, pause = AGAIN;
    try {
      const address = new URL(this.address);
      for (const log of stream.logs) {
        const followed = new URL(log.address, address);
        followed.searchParams.set("from", log.from);
        address.searchParams.append("log", followed.pathname + followed.search);
      }
      const answer = await fetch(address, {signal: stream.stop.signal, headers: {Accept: "text/event-stream"}});
      if (answer.ok) await this.listen(stream, answer.body.getReader());
      else {
        const problem = (answer.headers.get("Content-Type") || "").includes("json") ? await answer.json() : {};
        trouble = {state: "refused", sentence: problem.detail || `${answer.status} ${answer.statusText}`};
        pause = 1000 * Number(answer.headers.get("Retry-After")) || AGAIN;
      }
    } catch (error) { /* said below */ }
    if (this.stream !== stream) return;
    this.stream = null;
    // what was open for a while is opened again at once, as proxies cut streams; only if that fails pages hear of it
    if (stream.began && Date.now() - stream.began > AGAIN) return this.settle();
    this.tell(trouble);
    this.waiting = setTimeout(() => { this.waiting = null; this.settle(); }, pause);
  }

  async listen(stream, reader) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const silent = setTimeout(() => stream.stop.abort(), SILENT);
      const {done, value} = await reader.read().finally(() => clearTimeout(silent));
      if (done || this.stream !== stream) return;
      if (!stream.began) {
        stream.began = Date.now();
        this.tell({state: "live", sentence: ""});
      }
      const pieces = (rest + decoder.decode(value, {stream: true})).split("\n\n");
      rest = pieces.pop();
      for (const piece of pieces) this.take(stream, piece);
    }
  }

  take(stream, piece) {
    const field = (name) => (piece.match(new RegExp(`^${name}: (.*)$`, "m")) || [])[1];
    const type = field("event");
    if (!type) return;  // a heartbeat
    const data = JSON.parse(field("data"));
    if (type === "changed") {
      for (const page of this.pages.values()) if (page.live) page.tell({changed: data});
      return;
    }
    const log = stream.logs[data.log];
    if (type === "log") log.from = data.end;
    for (const page of this.pages.values()) if (page.log === log) page.tell({log: log.id, type, data});
  }

  tell(state) {
    this.state = state;
    for (const page of this.pages.values()) page.tell(state);
  }
}

// ---- the worker ----------------------------------------------------------------------------------------------------

if (typeof SharedWorkerGlobalScope !== "undefined" && self instanceof SharedWorkerGlobalScope) {
  const hub = new Hub(new URL("../live", self.location));
  self.addEventListener("connect", ({ports: [port]}) => {
    const tell = (message) => port.postMessage(message);
    port.onmessage = ({data}) => data ? hub.say(port, data, tell) : hub.leave(port);
  });
}

// ---- the page's way to the hub: a function that says what the page wants, null when it is left --------------------

function reach(hear) {
  const address = new URL(document.querySelector("meta[name=live]").content, location);
  if (!window.SharedWorker) return elected(address, hear);
  let wish = null, other = null;
  const worker = new SharedWorker(document.querySelector("meta[name=live-worker]").content);
  worker.port.onmessage = ({data}) => hear(data);
  worker.addEventListener("error", () => {  // its script cannot be had
    if (other) return;
    other = elected(address, hear);
    other(wish);
  });
  return (wanted) => {
    wish = wanted;
    if (other) other(wanted);
    else worker.port.postMessage(wanted);
  };
}

// Where pages can neither elect one of them nor talk, a page is its own hub.
function elected(address, hear) {
  const me = String(Math.random());
  let hub = null, wish = null;
  const alone = !navigator.locks || !window.BroadcastChannel;
  const channel = alone ? null : new BroadcastChannel("jobledger live");
  const tell = (page) => (message) => page === me ? hear(message) : channel.postMessage({to: page, message});
  const want = (page, wanted) => wanted ? hub.say(page, wanted, tell(page)) : hub.leave(page);
  const say = () => hub ? want(me, wish) : channel.postMessage({from: me, wish});
  const lead = () => {
    hub = new Hub(address);
    if (wish) say();
    if (channel) channel.postMessage({to: "all"});
    return new Promise(() => {});  // until the page is closed, when the browser chooses the next
  };
  if (alone) lead();
  else {
    channel.onmessage = ({data}) => {
      if (data.to === me) hear(data.message);
      else if (data.to === "all" && wish) say();
      else if (data.from && hub) want(data.from, data.wish);
    };
    navigator.locks.request("jobledger live", lead);
  }
  return (wanted) => {
    wish = wanted;
    say();
  };
}
