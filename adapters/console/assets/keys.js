// Keys: j and k move between rows, / searches, v goes to the verdict, a and r to its buttons,
// s and o to those of the next hit, a digit chooses the reason of a rejection, n goes to the next run, u undoes the last
// verdict, q goes back to the list, g and the first letter of a section goes there, ? shows
// the keys.

const shown = (element) => element.checkVisibility();
const keys = document.querySelector("details.keys");
let goes = false; // g was typed
let before; // had the focus when the keys were shown

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

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, dialog, [contenteditable]");
  if (event.key === "Escape") {
    help(false);
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
    return;
  }
  const search = document.querySelector("input[type=search]");
  const back = document.querySelector(".back a");
  const button = (decision) => [...document.querySelectorAll(`form.decide button[value="${decision}"]`)].find(shown);
  const approve = button("approve") ?? [...document.querySelectorAll("[data-ask]")].find(shown), reject = button("reject");
  const hit = (match) => [...document.querySelectorAll(`.hit > form button[value="${match}"]`)].find(shown);
  const same = hit("same"), other = hit("other");
  const next = document.querySelector("a[data-next]"), undo = [...document.querySelectorAll("[data-undo]")].find(shown);
  if (goes) { // to the section with this letter
    goes = false;
    const section = [...document.querySelectorAll("header nav a")].find((link) => link.dataset.key === event.key);
    section?.click();
    return;
  }
  if (/^[1-9]$/.test(event.key) && document.activeElement === reject) {
    const reason = document.querySelector("#reason");
    if (reason?.options[event.key]) {
      reason.selectedIndex = Number(event.key);
      event.preventDefault();
    }
    return;
  }
  const action = {
    j: () => move(1), k: () => move(-1), "?": () => help(!keys?.open), "/": search && (() => search.select()),
    v: document.querySelector("#verdict") && verdict,
    a: approve && (() => approve.focus()), r: reject && (() => reject.focus()), q: back && (() => back.click()),
    s: same && (() => same.focus()), o: other && (() => other.focus()), n: next && (() => next.click()), u: undo && (() => undo.click()), g: () => { goes = true; },
  }[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});
