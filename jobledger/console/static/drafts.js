// The form and the text of a job that is to be: a draft survives Back, reload and another language, YAML stands beside it.
//
// A draft lives in sessionStorage, so it belongs to this tab, and goes with it. It goes, too, when its job was created, and
// when the user discards it, which is asked first.
"use strict";

const user = () => (document.querySelector(".user") || {textContent: ""}).textContent;
const prefix = () => `draft ${user()} `;
const editor = () => document.querySelector("form[data-draft]");
const key = () => prefix() + editor().dataset.draft;

function saved(at) {
  try {
    return JSON.parse(sessionStorage.getItem(at));
  } catch {
    return null;
  }
}

function save() {
  const form = editor();
  const fields = Object.fromEntries([...new FormData(form)].filter(([name, value]) => name !== "_token" && !value.name));
  try {
    sessionStorage.setItem(key(), JSON.stringify({kind: form.dataset.kind, fields, touched: [...touched]}));
  } catch { /* there is no room, or the browser keeps nothing: then the page alone holds it */ }
}

function forget(wanted) {
  for (const at of Object.keys(sessionStorage))
    if (at.startsWith(prefix()) && wanted(at, saved(at) || {})) sessionStorage.removeItem(at);
}

const ofThisPage = (at, draft) => at === key() || draft.kind === editor().dataset.kind;

// ---- restoring ------------------------------------------------------------------------------------------------------

async function restore(draft) {
  const text = document.getElementById("yaml");
  if (text) {
    text.value = draft.fields.yaml;
    text.dispatchEvent(new Event("input", {bubbles: true}));
  } else {
    for (const name of draft.touched) touched.add(name);
    const values = {...draft.fields, do: "restore"};
    await htmx.ajax("POST", editor().action, {values, target: "#editor", select: "#editor", swap: "outerHTML"});
    htmx.trigger(document.body, "check");
  }
  document.getElementById("restored").hidden = false;
}

function begin() {
  const draft = saved(key());
  // what a button has led to is newer than any draft, unless the page is only shown once more
  const [visit] = performance.getEntriesByType("navigation");
  const isNew = visit.type === "navigate", isAnswer = editor().hasAttribute("data-answer");
  if (draft && !(isAnswer && isNew)) restore(draft);
  else if (isNew && isTyped()) save();  // before the scripts had loaded
  else if (isAnswer && document.getElementById("yaml")) sessionStorage.removeItem(key());
  else if (isAnswer) {
    forget((at, other) => at.endsWith("?text") && other.kind === editor().dataset.kind);
    save();
  }
}

const isTyped = () => [...editor().elements].some((input) =>
  input.type === "checkbox" ? input.checked !== input.defaultChecked
    : input.defaultValue !== undefined && input.value !== input.defaultValue);

// ---- discarding -----------------------------------------------------------------------------------------------------

function ask(way) {
  const dialog = document.getElementById("dialog");
  dialog.replaceChildren(document.getElementById("discard-question").content.cloneNode(true));
  dialog.querySelector("[data-discarded]").href = way;
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const target = event.target.closest ? event.target : event.target.parentElement;
  const discard = target.closest("[data-discard]");
  if (discard && saved(key())) {
    event.preventDefault();
    ask(discard.dataset.discard);
  }
  if (target.closest("[data-discarded]")) forget(ofThisPage);
});

// ---- the preview ----------------------------------------------------------------------------------------------------

const OPEN = "preview";
let unchanged = false;  // the next check is for the preview alone

function preview(open) {
  const [aside, button] = [document.getElementById("preview"), document.getElementById("show-preview")];
  if (!aside) return;
  aside.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
  if (!open) return;
  unchanged = true;
  htmx.trigger(document.body, "check");
}

document.addEventListener("click", (event) => {
  if (!event.target.closest || !event.target.closest("#show-preview")) return;
  event.preventDefault();
  const open = document.getElementById("preview").hidden;
  sessionStorage.setItem(OPEN, open ? "open" : "");
  preview(open);
  if (open) document.getElementById("preview").scrollIntoView({block: "nearest"});  // narrow windows have it below
});
document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.elt.id !== "checker") return;
  if (!document.getElementById("preview").hidden) event.detail.parameters["preview"] = "on";
  if (unchanged) event.detail.parameters["unchanged"] = "on";
  unchanged = false;
});

// ---- wiring ---------------------------------------------------------------------------------------------------------

document.addEventListener("DOMContentLoaded", () => {
  const created = document.querySelector("meta[name=created]");
  if (created) forget((_, draft) => draft.kind === created.content);
  if (!editor()) return;
  begin();
  preview(sessionStorage.getItem(OPEN) === "open");
});
for (const what of ["input", "change"])
  document.addEventListener(what, (event) => {
    if (event.target.closest && event.target.closest("form[data-draft]")) save();
  });
document.addEventListener("submit", (event) => {
  if (event.target.matches(".languages") && editor()) save();
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt.id !== "editor") return;
  save();
  preview(sessionStorage.getItem(OPEN) === "open");
});
