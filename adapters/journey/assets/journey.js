// Improvements that need JavaScript. The pages also work without it.
"use strict";

// A second click sends nothing; the button shows that the form is being sent.
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

// A file that is too large is refused before it is sent.
for (const input of document.querySelectorAll("input[type=file][data-max]")) {
  const id = input.id + "-large";
  const replaced = [id, input.id + "-error"];
  input.addEventListener("change", () => {
    const large = input.files.length > 0 && input.files[0].size > Number(input.dataset.max);
    const others = (input.getAttribute("aria-describedby") || "").split(" ").filter((name) => name && !replaced.includes(name));
    for (const old of replaced) document.getElementById(old)?.remove();
    input.closest(".field").classList.toggle("invalid", large);
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

// The page can take a photo and put it into the file input, so that the form sends
// it like a chosen file.
let closeCamera = () => {};
for (const camera of document.querySelectorAll("[data-camera]")) {
  if (!navigator.mediaDevices?.getUserMedia || !("DataTransfer" in window)) continue;
  const input = camera.closest(".field").querySelector("input[type=file]");
  const open = camera.querySelector("[data-open]");
  const live = camera.querySelector("[data-live]");
  const use = camera.querySelector("[data-use]");
  const video = camera.querySelector("video");
  const canvas = camera.querySelector("canvas");
  const status = camera.querySelector(".status");
  const tell = (text) => { status.textContent = text; };
  const longest = 1600; // pixels of the long side
  let stream;
  let opening = 0; // counts opens and closes, to ignore a camera that starts after its close
  let asking = false;
  let ours = false;

  const stop = (some) => some?.getTracks().forEach((track) => track.stop());
  const close = (text) => {
    const focus = live.contains(document.activeElement);
    opening++;
    asking = false;
    stop(stream);
    stream = null;
    video.srcObject = null;
    live.hidden = true;
    open.hidden = false;
    tell(text);
    if (focus) open.focus();
  };
  const shut = () => { if (stream || asking) close(""); };

  open.addEventListener("click", async () => {
    if (asking) return;
    closeCamera(); // phones allow one user of the camera
    closeCamera = shut;
    const mine = ++opening;
    asking = true;
    tell(status.dataset.asking);
    let found;
    try {
      found = await navigator.mediaDevices.getUserMedia({
        audio: false,
        video: { facingMode: { ideal: input.getAttribute("capture") || "environment" }, width: { ideal: longest }, height: { ideal: 1200 } },
      });
      if (mine !== opening) {
        stop(found);
        return;
      }
      stream = found;
      stream.getVideoTracks()[0].addEventListener("ended", () => { if (stream === found) close(status.dataset.failed); });
      video.srcObject = stream;
      live.hidden = false;
      await video.play();
      if (mine !== opening) return;
      asking = false;
      open.hidden = true;
      tell(status.dataset.ready);
      use.focus();
      live.scrollIntoView({ block: "nearest" });
    } catch (refused) {
      if (mine === opening) close(refused.name === "NotAllowedError" ? status.dataset.refused : status.dataset.failed);
    }
  });

  use.addEventListener("click", () => {
    if (!stream || !video.videoWidth) return;
    const mine = opening;
    const part = Math.min(1, longest / Math.max(video.videoWidth, video.videoHeight));
    const shot = document.createElement("canvas");
    shot.width = Math.round(video.videoWidth * part);
    shot.height = Math.round(video.videoHeight * part);
    shot.getContext("2d").drawImage(video, 0, 0, shot.width, shot.height);
    shot.toBlob((blob) => {
      if (mine !== opening) return;
      try {
        const files = new DataTransfer();
        files.items.add(new File([blob], "photo.jpg", { type: "image/jpeg" }));
        input.files = files.files;
      } catch {
        close(status.dataset.failed);
        return;
      }
      ours = true;
      input.dispatchEvent(new Event("change", { bubbles: true }));
      ours = false;
      canvas.width = shot.width;
      canvas.height = shot.height;
      canvas.getContext("2d").drawImage(shot, 0, 0);
      canvas.hidden = false;
      open.textContent = open.dataset.again;
      close(status.dataset.taken);
    }, "image/jpeg", 0.9);
  });

  const first = open.textContent;
  input.addEventListener("change", () => {
    if (ours) return; // otherwise another file was chosen
    shut();
    canvas.hidden = true;
    open.textContent = first;
    tell("");
  });
  camera.querySelector("[data-cancel]").addEventListener("click", () => close(canvas.hidden ? "" : status.dataset.taken));
  document.addEventListener("submit", shut);
  addEventListener("pagehide", shut);
  camera.hidden = false;
}

// The page requests the location only when the customer presses the button.
for (const place of document.querySelectorAll("[data-location]")) {
  const share = place.querySelector("[data-share]");
  const status = place.querySelector(".status");
  const denied = place.querySelector("input[type=checkbox]");
  const part = (name) => place.querySelector(`input[name$=".${name}"]`);
  const tell = (text) => { status.textContent = text; };
  const forget = () => {
    for (const name of ["latitude", "longitude", "accuracy"]) part(name).value = "";
  };
  if (!("geolocation" in navigator)) continue;
  share.hidden = false;
  share.querySelector("button").addEventListener("click", () => {
    tell(status.dataset.asking);
    navigator.geolocation.getCurrentPosition((found) => {
      part("latitude").value = found.coords.latitude.toFixed(6);
      part("longitude").value = found.coords.longitude.toFixed(6);
      part("accuracy").value = Math.ceil(found.coords.accuracy).toFixed(0);
      denied.checked = false;
      tell(status.dataset.shared);
    }, (refused) => {
      forget();
      tell(refused.code === refused.PERMISSION_DENIED ? status.dataset.refused : status.dataset.failed);
    }, { enableHighAccuracy: true, timeout: 20000, maximumAge: 60000 });
  });
  denied.addEventListener("change", () => {
    if (denied.checked) {
      forget();
      tell("");
    }
  });
}

// A wait page polls the state at growing intervals, and at once when it becomes
// visible.
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
      // Offline, or the host is busy: poll again later.
    }
    pause = Math.min(pause * 1.3, 20000);
    timer = setTimeout(look, pause);
  };
  timer = setTimeout(look, pause);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") look();
  });
}

// The end page sends the customer back to the client.
const leave = document.querySelector("a[data-leave]");
if (leave) setTimeout(() => location.replace(leave.href), 2500);
