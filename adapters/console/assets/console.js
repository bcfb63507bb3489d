// What every page of the console does with a script: it tells the server the time
// zone, keeps what a person types until the server has taken it, and sends a form once.

import { leave } from "./undo.js"; // first: it holds forms back
import "./palette.js";
import { keepDrafts, forgetDrafts } from "./drafts.js";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  document.cookie = `tz=${zone}; Path=/; SameSite=Lax; Max-Age=31536000`;
}

// A second click sends nothing, also in another form: the response to that would hide what
// the first one did.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[method=post]:not([data-download])")) {
    return;
  }
  if (document.querySelector("form[data-sent]")) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  event.submitter?.setAttribute("aria-disabled", "true");
  setTimeout(sendAgain, 10_000); // the person may have stopped the page from loading
}, {capture: true});
// These come after it, because a form that is not sent changes no draft.
keepDrafts(document);
for (const form of document.querySelectorAll("form[data-sign-out]")) {
  form.addEventListener("submit", (event) => event.defaultPrevented || (leave(), forgetDrafts()));
}
addEventListener("pageshow", sendAgain); // the back button shows the page again

function sendAgain() {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    for (const element of form.elements) { // some stand elsewhere on the page
      element.removeAttribute("aria-disabled");
    }
  }
}
