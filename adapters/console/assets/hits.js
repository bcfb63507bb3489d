// The hits of a run: a decision is sent without leaving the page, and what it changes is replaced. s, o and u
// decide a hit at once, or begin a decision that needs a reason: of a hit whose data agree, and of selected hits.

import { adopt, begin, shown } from "./begun.js";
import { keepDrafts } from "./drafts.js";

const said = document.querySelector("[data-hits-said]");
const matches = {s: "same", o: "other", u: "unsure"};
const all = (selector) => [...document.querySelectorAll(selector)];
const open = () => all(".hit[data-open]");
const boxes = () => all(".hit input[name=hit]");
const rowOf = (hit) => hit?.querySelector("[data-row]");
let decidedAt = -Infinity;

// justDecided reports whether a hit was decided a moment ago: what is typed now may be a text.
export const justDecided = () => performance.now() - decidedAt < 1_000;

// say tells what has changed to those who do not see it.
function say(text) {
  said.textContent = "";
  requestAnimationFrame(() => { said.textContent = text; });
}

function focus(element) {
  element?.focus();
  element?.scrollIntoView({block: "nearest"});
}

// toHits puts the focus on the first hit that is open. It reports whether there is one, and nothing to give a verdict with.
export function toHits() {
  const first = open()[0];
  if (!first || all("form.decide").some(shown)) {
    return false;
  }
  focus(rowOf(first));
  say(`${said.dataset.first} ${document.querySelector("#hits-title").textContent}`);
  return true;
}

// hitAction returns what a letter does with the hits now.
export function hitAction(key) {
  const match = matches[key];
  if (key === "x" || key === "X") {
    return boxes().length > 0 && (() => select(key === "X"));
  }
  if (!match || open().length === 0) {
    return null;
  }
  if (boxes().some((box) => box.checked)) {
    return () => begin(document.querySelector(`#several button[value="${match}"]`), key);
  }
  const at = document.activeElement, hit = at.closest(".hit[data-open]");
  if (!hit && !at.matches("body, h1, #hits, #hits *")) {
    return () => focus(rowOf(open()[0]));
  }
  const of = hit ?? open()[0], atOnce = of.querySelector(`[data-at-once][value="${match}"]`);
  return () => (atOnce ? atOnce.click() : begin(of.querySelector(`form button[value="${match}"]`), key));
}

// select selects a hit and goes to the next one, or selects all that may be decided together.
function select(every) {
  const may = boxes();
  if (every) {
    const on = may.some((box) => !box.checked);
    may.forEach((box) => { box.checked = on; });
    return;
  }
  const now = document.activeElement.closest(".hit"), at = Math.max(may.findIndex((box) => box.closest(".hit") === now), 0);
  may[at].checked = !may[at].checked;
  focus(rowOf(may[Math.min(at + 1, may.length - 1)].closest(".hit")));
}

// replace shows the parts of another page that have changed, and keeps what is typed in them.
function replace(page) {
  for (const step of all('[id^="step-"]')) { // its pictures and what is open stay
    const badge = page.getElementById(step.id)?.querySelector(".badge");
    if (badge) {
      step.querySelector(".badge")?.replaceWith(document.adoptNode(badge));
    }
  }
  for (const old of all("[data-fresh]")) {
    const fresh = page.getElementById(old.id);
    if (!fresh) {
      continue;
    }
    for (const field of old.querySelectorAll("input[id]:not([type=checkbox]), textarea[id]")) {
      const same = fresh.querySelector(`#${CSS.escape(field.id)}`);
      if (same && same.form?.id !== "several" && field.value !== field.defaultValue && same.value === field.defaultValue) {
        same.value = field.value;
      }
    }
    old.replaceWith(document.adoptNode(fresh));
    keepDrafts(fresh);
  }
  prepare();
}

// send sends a decision, and shows what it has changed.
async function send(event) {
  const form = event.target;
  if (event.defaultPrevented || !form.matches("[data-hits]")) {
    return;
  }
  event.preventDefault();
  const hit = form.closest(".hit")?.id;
  let page = null;
  try {
    const response = await fetch(form.action, {
      method: "POST", headers: {Accept: "text/html"}, body: new URLSearchParams(new FormData(form, event.submitter)), signal: AbortSignal.timeout(30_000),
    });
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch { // the network
    say(said.dataset.unsent);
  }
  delete form.dataset.sent;
  event.submitter?.removeAttribute("aria-disabled");
  if (page && !page.querySelector("#hits")) { // such as the page to sign in
    location.reload();
    return;
  }
  if (!page) {
    return;
  }
  decidedAt = performance.now();
  replace(page);
  adopt();
  const wrong = document.querySelector("[data-fresh] [autofocus]"), left = open();
  document.dispatchEvent(new CustomEvent("decided", {detail: {refused: wrong !== null}}));
  const after = left.find((one) => hit && document.getElementById(hit)?.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  focus(wrong ?? rowOf(after ?? left[0]) ?? document.querySelector("#verdict"));
  say(wrong ? "" : document.querySelector("#hits-title").textContent);
}

// prepare shows the box that selects all.
function prepare() {
  const every = document.querySelector("[data-all]");
  if (every) {
    every.hidden = false;
    every.addEventListener("change", () => boxes().forEach((box) => { box.checked = every.checked; }));
  }
}

document.addEventListener("submit", send);
prepare();
