// The queue page follows the queue: by server-sent events, or by reading the page again
// every 15 s while there are none.

const region = document.querySelector("[data-events]");
const stale = document.querySelector("[data-stale]");
const pollEvery = 15_000;
const ageEvery = 60_000; // ages are in minutes
let reading = false, again = false, poll = 0;

// show replaces what has changed, and keeps the focus in its row.
function show(page) {
  const fresh = page.querySelectorAll("[data-live]");
  const shown = document.querySelectorAll("[data-live]");
  if (fresh.length !== shown.length) {
    return;
  }
  shown.forEach((old, i) => {
    if (old.innerHTML === fresh[i].innerHTML) {
      return;
    }
    const row = old.contains(document.activeElement) ? document.activeElement.closest("tr") : null;
    const index = row ? row.sectionRowIndex : -1;
    old.replaceChildren(...fresh[i].childNodes);
    if (row) {
      const rows = old.querySelectorAll("[data-row]");
      (old.querySelector(`#${CSS.escape(row.id)} [data-row]`) ?? rows[Math.min(index, rows.length - 1)])?.focus();
    }
  });
}

async function refresh() {
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  let read = false;
  try {
    const response = await fetch(location.href, {headers: {Accept: "text/html"}, cache: "no-store", signal: AbortSignal.timeout(10_000)});
    if (response.ok && new URL(response.url).pathname === location.pathname) { // not the page to sign in
      if (response.redirected) { // the page has no entries any more, and another one was read
        history.replaceState(null, "", response.url);
      }
      show(new DOMParser().parseFromString(await response.text(), "text/html"));
      read = true;
    }
  } catch {
    // The next event or poll reads it again.
  } finally {
    reading = false;
    stale.hidden = read;
  }
  if (again) {
    again = false;
    refresh();
  }
}

function follow() {
  const events = new EventSource(region.dataset.events);
  events.addEventListener("changed", refresh);
  events.addEventListener("open", () => {
    clearInterval(poll);
    poll = 0;
    if (!region.dataset.events.includes("since=")) {
      refresh(); // something may have changed before it was open, and the server does not know what is shown
    }
    document.documentElement.dataset.follows = "events";
  });
  events.addEventListener("error", () => {
    document.documentElement.dataset.follows = "polls";
    if (!poll) { // the stream has just ended
      poll = setInterval(refresh, pollEvery);
      refresh();
    }
  });
  addEventListener("pagehide", () => events.close());
}

if (region) {
  follow();
  setInterval(() => document.visibilityState === "visible" && refresh(), ageEvery);
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}
