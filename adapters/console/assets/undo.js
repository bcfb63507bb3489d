// A verdict is held back for some seconds, in which the person can undo it, while the page
// of the next run is shown already. It is sent when the time is over, when the next verdict
// is given, and when the page is left. It stays in the session storage of the tab until the
// server has answered, and is sent with one idempotency key, so that it counts once.

import { dropDrafts } from "./drafts.js";

const person = document.body.dataset.person;
const key = `held ${person}`;
const undone = "undone ";
const longest = 60_000; // bytes: a browser sends no more of a page that is being left
const attempts = 4;
const pause = 1_500; // before another attempt
const bar = document.querySelector("[data-held-verdict]");

let timer = 0, leaving = false;

const held = () => JSON.parse(sessionStorage.getItem(key));
const keep = (verdict) => sessionStorage.setItem(key, JSON.stringify(verdict));
const forget = () => sessionStorage.removeItem(key);
const part = (name) => bar.querySelector(`[data-${name}]`);

// say shows the bar with the given buttons.
function say(text, tone, ...buttons) {
  bar.className = `held note ${tone}`;
  bar.querySelector("p").textContent = text;
  for (const name of ["undo", "again", "open"]) {
    part(name).hidden = !buttons.includes(name);
  }
  bar.hidden = false;
}

// about says of which run a text is; the reference has its own direction.
const about = (verdict, text) => `\u2068${verdict.reference}\u2069: ${text}`;

const post = (verdict) => fetch(verdict.action, {
  method: "POST", body: new URLSearchParams(verdict.fields), headers: {Accept: "text/plain"}, keepalive: true,
});

// send sends the held verdict, and says how it ended.
async function send() {
  const verdict = held();
  clearTimeout(timer);
  if (!verdict) {
    return;
  }
  verdict.until = 0;
  keep(verdict);
  part("open").href = verdict.page;
  for (let left = attempts; left > 0; left--) {
    let response;
    try {
      response = await post(verdict);
    } catch { // the network
      response = new Response("", {status: 503});
    }
    const text = await response.text();
    if (response.ok) {
      forget();
      say(text, "good");
      return;
    }
    if (response.status < 500 && (response.status !== 409 || text)) { // a 409 without a text: the same post is under way
      forget();
      restore(verdict);
      say(text || about(verdict, bar.dataset.lost), "warning", "open");
      return;
    }
    if (left > 1) {
      await new Promise((done) => setTimeout(done, pause));
    }
  }
  say(about(verdict, bar.dataset.unsent), "bad", "again", "open");
  if (!document.activeElement.closest("input, select, textarea, dialog")) { // nobody types
    part("again").focus();
  }
}

// restore keeps what was typed for the page of the run, and what the page says.
function restore(verdict, says = "") {
  sessionStorage.setItem(undone + new URL(verdict.page, location).pathname, JSON.stringify({fields: verdict.fields, says}));
}

function undo() {
  const verdict = held();
  clearTimeout(timer);
  if (verdict?.until) {
    forget();
    restore(verdict, verdict.undone);
    location.assign(verdict.page);
  }
}

// leave sends the held verdict without waiting for the response, and forgets all that was
// typed: the person signs out.
export function leave() {
  const verdict = held();
  if (verdict) {
    post(verdict).catch(() => {});
  }
  for (const name of Object.keys(sessionStorage).filter((k) => k === key || k.startsWith(undone))) {
    sessionStorage.removeItem(name);
  }
}

// wait shows the held verdict and sends it when its time is over.
function wait() {
  const verdict = held();
  if (!verdict) {
    return;
  }
  if (!verdict.until) { // it was sent by a page that could not wait for the response
    send();
    return;
  }
  say(verdict.text, "", "undo");
  timer = setTimeout(send, Math.max(verdict.until - Date.now(), 0));
}

// complete reports whether the server would accept the form.
function complete(form, decision) {
  const missing = (name) => form.elements[name] && form.elements[name].value.trim() === "";
  const rule = form.dataset.notes, listed = form.dataset.listed !== undefined;
  const notes = rule === "required" || rule === "on_reject" && decision === "reject" || listed && decision === "approve";
  const reason = form.elements.reason && missing("reason") === (decision === "reject");
  return !reason && !(notes && missing("notes"));
}

async function hold(event) {
  const form = event.target, decision = event.submitter?.value;
  const text = form.dataset?.[decision];
  if (document.querySelector("form[data-sent]") || !form.matches("[data-hold]") || !text || event.submitter.hasAttribute("formaction") || !complete(form, decision)) {
    return;
  }
  const fields = [...new FormData(form, event.submitter), ["request", crypto.randomUUID()]];
  if (new URLSearchParams(fields).toString().length > longest) {
    return;
  }
  event.preventDefault();
  event.stopPropagation(); // no other script takes it for a form that is sent
  form.dataset.sent = "yes"; // but nothing else can be sent any more
  if (held()) {
    await send();
  }
  keep({
    action: form.action, page: location.pathname + location.search, fields, text, undone: form.dataset[`${decision}Undone`], reference: form.elements.reference.value,
    until: Date.now() + Number(form.dataset.hold),
  });
  dropDrafts(form);
  leaving = true;
  location.assign(form.dataset.next);
}

if (bar) {
  document.addEventListener("submit", hold, {capture: true});
  part("undo").addEventListener("click", undo);
  part("again").addEventListener("click", send);
  addEventListener("pagehide", () => {
    const verdict = held();
    if (verdict?.until && !leaving) {
      keep({...verdict, until: 0});
      post(verdict).catch(() => {}); // the next page sends it again, and shows the response
    }
  });
  addEventListener("pageshow", (event) => {
    leaving = false;
    if (event.persisted) {
      wait();
    }
  });
  const restored = JSON.parse(sessionStorage.getItem(undone + location.pathname));
  const form = document.querySelector("form[data-hold]");
  if (restored && form) {
    sessionStorage.removeItem(undone + location.pathname);
    for (const [name, value] of restored.fields.filter(([name]) => name === "notes" || name === "reason")) {
      if (form.elements[name]?.value === "") {
        form.elements[name].value = value;
        form.elements[name].dispatchEvent(new Event("input", {bubbles: true}));
      }
    }
    if (restored.says) {
      say(restored.says, "");
    }
  }
  if (restored || held()) { // no button has the focus: a second Enter decides nothing
    document.querySelector("h1")?.focus({preventScroll: true});
  }
  wait();
}
