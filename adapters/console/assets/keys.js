// Keys: j and k move between rows, / searches, v goes to the verdict, a and r begin one (see begun.js) or go
// to the first hit that is open, s, o and u decide a hit and x selects it (see hits.js), n goes to the next run, u undoes the last verdict, q goes back
// to the list, g and the first letter of a section goes there, c shows the pictures of a check side by side, ? shows the keys. Letters that
// may be a text that lost its field do nothing: after a refusal, and after a letter that is no key.

import { begin, endBegun, give, isText, shown, take } from "./begun.js";
import { hitAction, justDecided, toHits } from "./hits.js";

const keys = document.querySelector("details.keys");
let goes = false; // g was typed
let before; // had the focus when the keys were shown
let left = -Infinity; // when the page was left: its keys are for the next one
let lost = -Infinity; // when a letter was typed that is no key
let refused = document.querySelector("[data-error]") !== null; // and the person has not gone on yet

// move puts the focus on another row. Without a focus it begins at the row that the
// address names, which the person comes back to.
function move(step) {
  const all = [...document.querySelectorAll("[data-row]")].filter(shown);
  if (all.length === 0) {
    return;
  }
  const at = (test) => all.findIndex(test);
  const now = Math.max(at((row) => row.contains(document.activeElement)), document.activeElement === document.body ? at((row) => row.closest(":target")) : -1);
  const next = now < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + step, 0), all.length - 1);
  all[next].focus();
  all[next].scrollIntoView({block: "nearest"});
}

function verdict() {
  const to = ["#notes", ".verdict details:not([open]) > summary", "#verdict"].flatMap((one) => [...document.querySelectorAll(one)]).find(shown);
  to?.focus();
  to?.scrollIntoView({block: "nearest"});
}

function help(open) {
  if (keys && keys.open !== open) {
    keys.open = open;
    if (open) {
      before = document.activeElement;
    }
    (open ? keys.querySelector("summary") : before)?.focus({preventScroll: true});
  }
}

// follow follows a link, or only goes to it while something is typed that was not sent.
function follow(link) {
  const fields = document.querySelectorAll("textarea[data-draft], #hits input[name=reason]");
  if ([...fields].some((field) => shown(field) && field.value.trim() !== "")) {
    link.focus();
    return;
  }
  left = performance.now();
  link.click();
}

// gone reports whether the keys are no longer for this page: it was left, or a form was sent.
const gone = () => performance.now() - left < 10_000 || document.querySelector("form[data-sent]");

// afterVerdict reports whether a verdict was given a moment ago, and a text may still be typed for it.
const afterVerdict = () => performance.now() < 1_000 && [...document.querySelectorAll("[data-undo]")].some(shown);

// actionOf returns what a letter does now.
function actionOf(key) {
  const one = (selector) => [...document.querySelectorAll(selector)].find(shown);
  const decision = (value) => document.querySelector(`form.decide button[value="${value}"]`);
  const away = !afterVerdict(), leaves = away && !justDecided();
  const approve = decision("approve") ?? decision("return"), reject = decision("reject") ?? decision("return"); // against a proposal: send it back
  const next = document.querySelector("a[data-next]"), back = document.querySelector(".back a");
  const begins = (button) => away && button && (() => {
    if (toHits()) {
      lost = performance.now(); // what follows at once is a text
    } else {
      begin(button, key);
    }
  });
  const faces = document.activeElement.closest("article, details")?.querySelector("[data-faces]") ?? one("[data-faces]");
  const undo = one("[data-undo]"), search = document.querySelector("input[type=search]");
  return {
    j: () => move(1), k: () => move(-1), "?": () => help(!keys?.open), "/": search && (() => search.select()),
    v: document.querySelector("#verdict") && verdict,
    a: begins(approve), r: begins(reject),
    c: away && faces && (() => faces.dispatchEvent(new CustomEvent("compare", {bubbles: true}))),
    q: leaves && back && (() => follow(back)), n: leaves && next && (() => follow(next)), g: leaves && (() => { goes = true; }),
    u: undo && (() => { left = performance.now(); undo.click(); }),
  }[key] ?? (away && hitAction(key));
}

document.addEventListener("decided", (event) => { refused = event.detail.refused; });
addEventListener("beforeunload", () => { left = performance.now(); });
addEventListener("pageshow", () => { left = -Infinity; });
addEventListener("pointerdown", () => {
  left = lost = -Infinity;
  refused = false;
}, {capture: true});

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, select, textarea, dialog, [contenteditable]"), key = event.key;
  if (gone()) {
    if (!field || key === "Enter" && event.ctrlKey) {
      event.preventDefault();
    }
    return;
  }
  if (key === "Escape" || key === "Tab") {
    refused = goes = false;
    lost = -Infinity;
  }
  if (key === "Escape" && !event.defaultPrevented) {
    if (keys?.open) {
      help(false);
    } else {
      endBegun(field);
    }
  }
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && give(event.target)) {
    event.preventDefault();
  }
  if (field || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || take(event)) {
    return;
  }
  if (event.repeat && !["j", "k"].includes(key)) {
    return;
  }
  if (goes && isText(key)) { // to the section with this letter
    goes = false;
    const section = [...document.querySelectorAll("header nav a")].find((link) => link.dataset.key === key);
    if (section) {
      follow(section);
    }
    return;
  }
  const now = performance.now(), action = !refused && isText(key) && actionOf(key);
  if (now - lost < 1_000 && (isText(key) || key === "Enter") || isText(key) && key !== " " && !action) {
    lost = now; // a text that lost its field
    event.preventDefault();
    return;
  }
  if (action) {
    event.preventDefault();
    action();
  }
});
