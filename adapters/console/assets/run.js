// The run page: the claim of a person who is active is renewed.

const form = document.querySelector("form[data-claim]:not([data-claim=''])");
const renewEvery = 5 * 60_000; // a claim lasts 15 minutes
let active = false;

async function renew() {
  if (!active) {
    return;
  }
  active = false;
  try {
    const response = await fetch(form.dataset.claim, {
      method: "POST", headers: {Accept: "application/json"}, body: new URLSearchParams(), signal: AbortSignal.timeout(10_000),
    });
    form.querySelector("[data-taken]").hidden = response.status !== 409;
  } catch {
    active = true; // it is renewed the next time
  }
}

if (form) {
  for (const sign of ["input", "keydown", "pointerdown", "scroll"]) {
    addEventListener(sign, () => { active = true; }, {passive: true, capture: true});
  }
  setInterval(renew, renewEvery);
}

document.querySelector("[autofocus]")?.focus();
