// The palette: Ctrl+K or Cmd+K shows what can be done on this page and where one can go.
// A command is a link of the navigation, or an element with data-command. What is typed also finds runs, by reference and by
// person: the server is asked when the person pauses.

const palette = document.querySelector("[data-palette]");
const input = palette?.querySelector("input");
const list = palette?.querySelector("ul");

const pause = 300; // milliseconds
let chosen = 0, runs = [], waiting = 0;

function commands() {
  const words = input.value.trim().toLowerCase().split(/\s+/);
  return [...document.querySelectorAll("[data-command], header nav a, .back a")]
    .filter((element) => element.checkVisibility() && !element.disabled)
    .map((element) => ({element, text: (element.dataset.command || element.textContent).trim()}))
    .filter(({text}) => words.every((word) => text.toLowerCase().includes(word)))
    .concat(runs);
}

// find asks for the runs that match what is typed. An answer to what was typed before is dropped.
async function find() {
  const text = input.value.trim();
  try {
    const response = await fetch(`${document.body.dataset.base}/palette`, {
      method: "POST", headers: {Accept: "application/json"}, signal: AbortSignal.timeout(10_000),
      body: new URLSearchParams({person: document.body.dataset.person, text}),
    });
    const found = response.ok ? await response.json() : [];
    if (text === input.value.trim()) {
      runs = found.map((run) => ({element: Object.assign(document.createElement("a"), {href: run.url}), text: run.text}));
      draw();
    }
  } catch { // the commands are there
  }
}

function draw() {
  const found = commands();
  chosen = Math.min(Math.max(chosen, 0), Math.max(found.length - 1, 0));
  list.replaceChildren(...found.map(({element, text}, i) => {
    const item = document.createElement("li");
    Object.assign(item, {id: `command-${i}`, textContent: text, dir: "auto"});
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", i === chosen);
    item.addEventListener("click", () => run(element));
    return item;
  }));
  palette.querySelector("[role=status]").hidden = found.length > 0;
  input.setAttribute("aria-activedescendant", found.length > 0 ? `command-${chosen}` : "");
  list.children[chosen]?.scrollIntoView({block: "nearest"});
}

// run closes the palette and does what the element does: a field gets the focus.
function run(element) {
  palette.close();
  if (element.matches("input, select, textarea")) {
    element.focus();
  } else {
    element.click();
  }
}

document.addEventListener("keydown", (event) => {
  if (palette && event.key === "k" && (event.ctrlKey || event.metaKey) && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    input.value = "";
    runs = [];
    chosen = 0;
    palette.showModal();
    draw();
  }
});
input?.addEventListener("input", () => {
  chosen = 0;
  runs = [];
  clearTimeout(waiting);
  waiting = setTimeout(find, pause);
  draw();
});
palette?.addEventListener("keydown", (event) => {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (step) {
    event.preventDefault();
    chosen += step;
    draw();
  } else if (event.key === "Enter") {
    event.preventDefault();
    list.children[chosen]?.click();
  }
});
palette?.addEventListener("click", (event) => event.target === palette && palette.close());
