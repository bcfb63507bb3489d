// Improvements that need JavaScript. The pages also work without it.
"use strict";

// A second click sends nothing, also in another form; the button shows that the form is
// being sent.
for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (document.querySelector("form[data-sent]")) {
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

// The upload of a file: it shows the chosen file, takes a photo, and refuses a file that
// is too large before it is sent. The input stays what the form sends.
const canShoot = Boolean(navigator.mediaDevices?.getUserMedia) && "DataTransfer" in window;
let closeCamera = () => {}; // phones allow one user of the camera

for (const upload of document.querySelectorAll("[data-upload]")) {
  const find = (name) => upload.querySelector(`[data-${name}]`);
  const input = upload.querySelector("input[type=file]");
  const canvas = upload.querySelector("canvas");
  const status = upload.querySelector(".status");
  const open = find("open");
  const choices = find("choices");
  const longest = 1600; // pixels of the long side of a photo
  const tell = (text) => { status.textContent = text; };
  const chosen = () => (input.files.length > 0 && !input.dataset.refused ? status.dataset.chosen : "");
  let close = () => {};
  let taken = false; // whether the page took the photo
  let shown = 0; // counts previews, to ignore one that is overtaken

  const draw = (picture, width, height) => {
    canvas.width = width;
    canvas.height = height;
    canvas.getContext("2d").drawImage(picture, 0, 0, width, height);
    canvas.hidden = false;
  };

  const again = (button, yes) => {
    const text = button?.querySelector("[data-again]");
    if (!text) return;
    text.dataset.first ??= text.textContent;
    text.textContent = yes ? text.dataset.again : text.dataset.first;
  };

  const show = async () => {
    const file = input.files[0];
    const mine = ++shown;
    find("preview").hidden = !file;
    find("remove").hidden = !file;
    again(find("choose"), file);
    again(open, file && taken);
    canvas.hidden = true;
    if (!file) return;
    find("document").hidden = true;
    find("name").textContent = taken ? "" : file.name;
    try {
      const picture = await createImageBitmap(file);
      if (mine === shown) {
        const part = Math.min(1, 1200 / Math.max(picture.width, picture.height));
        draw(picture, Math.max(1, Math.round(picture.width * part)), Math.max(1, Math.round(picture.height * part)));
      }
      picture.close();
    } catch {
      if (mine === shown) find("document").hidden = false; // not an image, or one that the browser cannot show
    }
  };

  const checkSize = () => {
    const id = input.id + "-large";
    const replaced = [id, input.id + "-error"];
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
      upload.before(error);
      others.push(id);
      input.dataset.refused = "yes";
      input.setAttribute("aria-invalid", "true");
    } else {
      delete input.dataset.refused;
      input.removeAttribute("aria-invalid");
    }
    input.setAttribute("aria-describedby", others.join(" "));
  };

  input.classList.add("hidden");
  find("choose").hidden = false;
  find("remove").addEventListener("click", () => {
    input.value = "";
    input.dispatchEvent(new Event("change", { bubbles: true }));
    input.focus();
  });
  input.addEventListener("change", () => {
    checkSize();
    if (!taken) {
      close("");
      tell(chosen());
    }
    show();
  });
  addEventListener("pageshow", () => { if (input.files.length > 0) show(); }); // the back button keeps the file
  if (!open || !canShoot) continue;

  // The page takes a photo and puts it into the input.
  let facing = input.getAttribute("capture") || "environment";
  input.removeAttribute("capture"); // so that a phone also offers its pictures
  open.hidden = false;
  const live = find("live");
  const use = find("use");
  const turn = find("turn");
  const video = upload.querySelector("video");
  let stream;
  let opening = 0; // counts opens and closes, to ignore a camera that starts after its close
  let asking = false;

  const stop = (some) => some?.getTracks().forEach((track) => track.stop());
  close = (text) => {
    const focus = live.contains(document.activeElement);
    opening++;
    asking = false;
    stop(stream);
    stream = null;
    video.srcObject = null;
    live.hidden = true;
    choices.hidden = false;
    find("preview").hidden = input.files.length === 0;
    tell(text);
    if (focus) open.focus();
  };
  const shut = () => { if (stream || asking) close(""); };

  const start = async () => {
    if (asking) return;
    closeCamera();
    closeCamera = shut;
    const mine = ++opening;
    asking = true;
    tell(status.dataset.asking);
    let found;
    try {
      found = await navigator.mediaDevices.getUserMedia({
        audio: false,
        video: { facingMode: { ideal: facing }, width: { ideal: longest }, height: { ideal: 1200 } },
      });
      if (mine !== opening) {
        stop(found);
        return;
      }
      stream = found;
      stream.getVideoTracks()[0].addEventListener("ended", () => { if (stream === found) close(status.dataset.failed); });
      video.srcObject = stream;
      video.classList.toggle("mirrored", facing === "user");
      live.hidden = false;
      await video.play();
      const cameras = (await navigator.mediaDevices.enumerateDevices()).filter((device) => device.kind === "videoinput");
      if (mine !== opening) return;
      turn.hidden = cameras.length < 2;
      asking = false;
      choices.hidden = true;
      find("preview").hidden = true;
      tell(status.dataset.ready);
      use.focus();
      live.scrollIntoView({ block: "nearest" });
    } catch (refused) {
      if (mine === opening) close(refused.name === "NotAllowedError" ? status.dataset.refused : status.dataset.failed);
    }
  };

  open.addEventListener("click", start);
  turn.addEventListener("click", () => {
    facing = facing === "user" ? "environment" : "user";
    stop(stream);
    stream = null;
    start();
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
      taken = true;
      input.dispatchEvent(new Event("change", { bubbles: true }));
      taken = false;
      close(status.dataset.taken);
    }, "image/jpeg", 0.9);
  });
  find("cancel").addEventListener("click", () => close(chosen()));
  document.addEventListener("submit", shut);
  addEventListener("pagehide", shut);
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
      if (denied) denied.checked = false;
      tell(status.dataset.shared);
    }, (refused) => {
      forget();
      tell(refused.code === refused.PERMISSION_DENIED ? status.dataset.refused : status.dataset.failed);
    }, { enableHighAccuracy: true, timeout: 20000, maximumAge: 60000 });
  });
  denied?.addEventListener("change", () => {
    if (denied.checked) {
      forget();
      tell("");
    }
  });
}

// Times are shown in the customer's time zone.
for (const time of document.querySelectorAll("time[datetime]")) {
  time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" }).format(new Date(time.dateTime));
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
