// What every page of the console does with a script: it tells the server the time
// zone, and keeps what a person types until the server has taken it.

import { keepDrafts, forgetDrafts } from "./drafts.js";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  document.cookie = `tz=${zone}; Path=/; SameSite=Lax; Max-Age=31536000`;
}

keepDrafts(document);
for (const form of document.querySelectorAll("form[data-sign-out]")) {
  form.addEventListener("submit", forgetDrafts);
}
