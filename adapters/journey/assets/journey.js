// What the pages can do better with JavaScript. All of it works without, too.
"use strict";

// A second press sends nothing; the first one says that it is under way.
for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    const bad = form.querySelector("input[type=file][data-refused]");
    if (bad) {
      event.preventDefault();
      bad.focus();
      return;
    }
    form.dataset.sent = "yes";
    const button = event.submitter || form.querySelector("button:not([type=button])");
    button.dataset.text = button.textContent;
    button.textContent = form.dataset.busy;
    button.setAttribute("aria-disabled", "true");
  });
}
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll("button[data-text]")) {
      button.textContent = button.dataset.text;
      button.removeAttribute("aria-disabled");
    }
  }
});

// A file that is too large is told before it is sent.
for (const input of document.querySelectorAll("input[type=file][data-most]")) {
  const id = input.id + "-large";
  const told = [id, input.id + "-error"];
  input.addEventListener("change", () => {
    const large = input.files.length > 0 && input.files[0].size > Number(input.dataset.most);
    const others = (input.getAttribute("aria-describedby") || "").split(" ").filter((name) => name && !told.includes(name));
    for (const old of told) document.getElementById(old)?.remove();
    input.closest(".field").classList.toggle("faulty", large);
    if (large) {
      const error = document.createElement("p");
      error.id = id;
      error.className = "error";
      error.setAttribute("role", "alert");
      error.textContent = input.dataset.large;
      input.before(error);
      others.push(id);
      input.dataset.refused = "yes";
      input.setAttribute("aria-invalid", "true");
    } else {
      delete input.dataset.refused;
      input.removeAttribute("aria-invalid");
    }
    input.setAttribute("aria-describedby", others.join(" "));
  });
}

// The location is asked for when the customer presses the button, never before.
for (const place of document.querySelectorAll("[data-location]")) {
  const share = place.querySelector("[data-share]");
  const told = place.querySelector(".told");
  const denied = place.querySelector("input[type=checkbox]");
  const part = (name) => place.querySelector(`input[name$=".${name}"]`);
  const tell = (text) => { told.textContent = text; };
  const forget = () => {
    for (const name of ["latitude", "longitude", "accuracy"]) part(name).value = "";
  };
  if (!("geolocation" in navigator)) continue;
  share.hidden = false;
  share.querySelector("button").addEventListener("click", () => {
    tell(told.dataset.asking);
    navigator.geolocation.getCurrentPosition((found) => {
      part("latitude").value = found.coords.latitude.toFixed(6);
      part("longitude").value = found.coords.longitude.toFixed(6);
      part("accuracy").value = Math.ceil(found.coords.accuracy).toFixed(0);
      denied.checked = false;
      tell(told.dataset.shared);
    }, (refused) => {
      forget();
      tell(refused.code === refused.PERMISSION_DENIED ? told.dataset.refused : told.dataset.failed);
    }, { enableHighAccuracy: true, timeout: 20000, maximumAge: 60000 });
  });
  denied.addEventListener("change", () => {
    if (denied.checked) {
      forget();
      tell("");
    }
  });
}

// A page that waits looks for news, less and less often, and at once when the
// customer comes back to it.
const waiting = document.querySelector("[data-state]");
if (waiting) {
  let pause = 1000;
  let timer;
  const look = async () => {
    clearTimeout(timer);
    try {
      const answer = await fetch(location.pathname + "/state", { cache: "no-store" });
      const gone = answer.status === 404;
      if (gone || (answer.ok && (await answer.text()) !== waiting.dataset.state)) {
        location.replace(location.pathname + waiting.dataset.next);
        return;
      }
    } catch {
      // Offline, or the host is busy: look again later.
    }
    pause = Math.min(pause * 1.3, 20000);
    timer = setTimeout(look, pause);
  };
  timer = setTimeout(look, pause);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") look();
  });
}

// The end of the way: on to whoever sent the customer.
const leave = document.querySelector("a[data-leave]");
if (leave) setTimeout(() => location.replace(leave.href), 2500);
