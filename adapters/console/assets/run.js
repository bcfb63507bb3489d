// The run page: a run that was opened from another page of the console is claimed, and
// the claim of a person who is active is renewed.

const form = document.querySelector("form[data-claim]");
const free = document.querySelector("[data-free]");
const mine = document.querySelector("form[data-mine]");
const renewEvery = 5 * 60_000; // a claim lasts 15 minutes
let active = false;

async function claim() {
  active = false;
  try {
    const response = await fetch(form.dataset.claim, {
      method: "POST", headers: {Accept: "application/json"}, signal: AbortSignal.timeout(10_000),
      body: new URLSearchParams({person: form.elements.person.value}), // another one may have signed in since
    });
    form.querySelector("[data-taken]").hidden = response.status !== 409;
    if (response.ok) {
      free?.remove();
      mine.querySelector("[data-held]").textContent = await response.text();
      mine.hidden = false;
    }
  } catch {
    active = true; // it is renewed the next time
    if (free?.isConnected) {
      form.addEventListener("input", claim, {once: true});
    }
  }
}

if (form && mine) {
  for (const sign of ["input", "keydown", "pointerdown", "scroll"]) {
    addEventListener(sign, () => { active = true; }, {passive: true, capture: true});
  }
  setInterval(() => active && !mine.hidden && claim(), renewEvery);
  if (free) {
    form.addEventListener("input", claim, {once: true}); // who writes a note works on the run
  }
  if (form.dataset.claimNow !== undefined) {
    if (document.visibilityState === "visible") {
      claim();
    } else { // a tab that was opened in the background
      document.addEventListener("visibilitychange", claim, {once: true});
    }
  }
}

document.querySelector("[autofocus]")?.focus();
