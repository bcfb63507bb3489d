// The run page: a run is claimed when it is opened from another page of the console, or
// when a note is typed. The claim is renewed while the person is active.

// A decision on a hit replaces these.
const formOf = () => document.querySelector("form[data-claim]");
const mineOf = () => document.querySelector("form[data-mine]");
const renewEvery = 5 * 60_000; // a claim lasts 15 minutes
let active = false;

// claim claims the run, or renews the claim.
async function claim() {
  active = false;
  const form = formOf(), mine = mineOf(), free = document.querySelector("[data-free]");
  if (!form || !mine) {
    return;
  }
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

const form = formOf();
if (form && mineOf()) {
  for (const sign of ["input", "keydown", "pointerdown", "scroll"]) {
    addEventListener(sign, () => { active = true; }, {passive: true, capture: true});
  }
  setInterval(() => active && !mineOf()?.hidden && claim(), renewEvery);
  if (document.querySelector("[data-free]")) {
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

// A link to a step that passed opens its line, and the list of what passed.
function openTarget() {
  let target = document.getElementById(decodeURIComponent(location.hash.slice(1))); // an element has brackets in its id
  for (target = target?.closest("details"); target; target = target.parentElement.closest("details")) {
    target.open = true;
  }
}
addEventListener("hashchange", openTarget);
openTarget();
