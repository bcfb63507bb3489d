// The run page: a run is claimed when it is opened from another page of the console, or
// when a note is typed. The claim is renewed while the person is active.

const form = document.querySelector("form[data-claim]");
const free = document.querySelector("[data-free]");
const mine = document.querySelector("form[data-mine]");
const renewEvery = 5 * 60_000; // a claim lasts 15 minutes
let active = false;

// claim claims the run, or renews the claim.
async function claim() {
  active = false;
  try {
    const response = await fetch(form.dataset.claim, {
      method: "POST", headers: {Accept: "application/json"}, signal: AbortSignal.timeout(10_000),
      body: new URLSearchParams({person: form.elements.person.value}), // another one may have signed in since
    });
    if (response.status >= 500) {
      throw new Error(response.statusText);
    }
    const taken = response.status === 409;
    if (response.ok) {
      mine.querySelector("[data-held]").textContent = await response.text();
    }
    if (response.ok || taken) {
      free?.remove();
      mine.hidden = taken;
    }
    form.querySelector("[data-taken]").hidden = !taken;
  } catch { // a claim is renewed after the next interval, and a run claimed at the next input
    active = true;
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
    form.addEventListener("input", claim, {once: true}); // a person who writes a note works on the run
  }
  if (form.dataset.claimNow !== undefined) {
    if (document.visibilityState === "visible") {
      claim();
    } else { // a tab that was opened in the background
      document.addEventListener("visibilitychange", claim, {once: true});
    }
  }
}

const first = document.querySelector("[autofocus]");
first?.focus();
first?.setSelectionRange?.(first.value.length, first.value.length);

// A link to a step that passed opens its line.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1))); // an element has brackets in its id
  if (target?.matches("details.line")) {
    target.open = true;
  }
}
addEventListener("hashchange", openTarget);
openTarget();
