// Keys: j and k move between rows, / searches, ? shows the keys.

const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.getClientRects().length > 0);

function move(step) {
  const all = rows();
  if (all.length === 0) {
    return;
  }
  const now = all.findIndex((row) => row.contains(document.activeElement));
  const next = now < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + step, 0), all.length - 1);
  all[next].focus();
  all[next].scrollIntoView({block: "nearest"});
}

function help() {
  const keys = document.querySelector("details.keys");
  if (keys) {
    keys.open = !keys.open;
    keys.querySelector("summary").focus();
  }
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, dialog, [contenteditable]");
  if (event.key === "Escape") {
    document.querySelector("details.keys")?.removeAttribute("open");
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
    return;
  }
  const search = document.querySelector("#search");
  const action = {j: () => move(1), k: () => move(-1), "?": help, "/": search && (() => search.select())}[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});
