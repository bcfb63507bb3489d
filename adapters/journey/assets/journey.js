// Improvements that need JavaScript. The pages also work without it.
"use strict";

// The server learns that somebody sees the page. Scanners and previews of links run no script,
// and a page that a browser loads ahead is hidden.
if ("opened" in document.body.dataset) {
  const tell = () => {
    if (document.visibilityState !== "visible") return;
    document.removeEventListener("visibilitychange", tell);
    fetch(location.pathname + "/opened", { method: "POST", keepalive: true }).catch(() => {});
  };
  document.addEventListener("visibilitychange", tell);
  tell();
}

// A second click sends nothing, also in another form; the button shows that the form is
// being sent.
for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (document.querySelector("form[data-sent]")) {
      event.preventDefault();
      return;
    }
    const bad = form.querySelector("input[type=file][data-refused], [data-judge]:not([hidden]) [data-use]");
    if (bad) {
      event.preventDefault();
      bad.focus();
      return;
    }
    const offline = form.querySelector("[data-offline]");
    if (offline) offline.textContent = navigator.onLine ? "" : offline.dataset.offline;
    if (offline?.textContent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    const button = event.submitter || form.querySelector("button:not([type=button])");
    button.dataset.text = button.textContent;
    button.textContent = form.dataset.busy;
    button.setAttribute("aria-disabled", "true");
    if (form.querySelector("[data-sending]") && !button.name && chosenFiles(form).length > 0) {
      event.preventDefault();
      sendFiles(form);
    }
  });
}

// release lets a form be sent again.
function release(form) {
  delete form.dataset.sent;
  for (const button of form.querySelectorAll("button[data-text]")) {
    button.textContent = button.dataset.text;
    button.removeAttribute("aria-disabled");
    delete button.dataset.text;
  }
  const box = form.querySelector("[data-sending]");
  if (!box) return;
  box.hidden = true;
  for (const input of form.querySelectorAll("input[type=file]:disabled")) input.disabled = false;
  for (const buttons of form.querySelectorAll(":scope > .buttons")) buttons.hidden = false;
}
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach(release));

// chosenFiles returns the inputs of a form that have a file.
function chosenFiles(form) {
  return [...form.querySelectorAll("input[type=file]")].filter((input) => input.files.length > 0);
}

// sendFiles sends the files of a form ahead of it, and then the form, which names them. It
// shows how far they are. If the connection breaks off, the page stays as it is, and the
// customer can try again; the page also does so by itself when the browser is online again.
function sendFiles(form) {
  const box = form.querySelector("[data-sending]");
  const bar = box.querySelector("progress");
  const status = box.querySelector("[role=status]");
  const retry = box.querySelector("[data-retry]");
  const buttons = form.querySelector(":scope > .buttons");
  const stalled = 30000; // milliseconds without progress
  const inputs = chosenFiles(form);
  const data = new FormData();
  data.append("wait", form.elements.wait.value);
  data.append("do", "upload");
  for (const input of inputs) data.append(input.name, input.files[0]);

  const again = () => {
    removeEventListener("online", again);
    sendFiles(form);
  };
  const request = new XMLHttpRequest();
  let timer;
  const watch = () => {
    clearTimeout(timer);
    timer = setTimeout(() => request.abort(), stalled);
  };
  const broken = () => {
    clearTimeout(timer);
    status.textContent = status.dataset.broken;
    status.className = "error";
    bar.hidden = true; // it may be full
    retry.hidden = false;
    retry.onclick = again;
    retry.focus();
    addEventListener("online", again);
  };
  const done = () => {
    clearTimeout(timer);
    if (request.status !== 200) {
      broken();
      return;
    }
    if (!request.getResponseHeader("Content-Type").startsWith("application/json")) {
      location.replace(request.responseURL); // the step is over
      return;
    }
    const answer = JSON.parse(request.responseText);
    let refused;
    for (const input of inputs) {
      const field = input.name.slice(2);
      const file = answer.files[field];
      if (file && !answer.problems[field]) {
        keep(form, input, file);
      } else {
        refused ??= input;
        tellProblem(input, answer.problems[field] || "");
      }
    }
    if (refused) {
      release(form);
      refused.focus();
      return;
    }
    form.submit();
  };

  box.hidden = false;
  buttons.hidden = true;
  retry.hidden = true;
  bar.hidden = false;
  bar.value = 0;
  status.className = "";
  status.textContent = status.dataset.percent.replace("#", "0");
  request.upload.addEventListener("progress", (event) => {
    watch();
    if (!event.lengthComputable) return;
    const percent = Math.floor((100 * event.loaded) / event.total);
    bar.value = percent;
    const told = status.dataset.percent.replace("#", 10 * Math.floor(percent / 10)); // a screen reader reads each change
    if (status.textContent !== told) status.textContent = told;
  });
  request.addEventListener("load", done);
  request.addEventListener("error", broken);
  request.addEventListener("abort", broken);
  request.open("POST", location.href);
  request.send(data);
  watch();
}

// keep replaces the chosen file of an input by the one that was uploaded.
function keep(form, input, file) {
  for (const [part, value] of Object.entries({ id: file.id, name: file.name })) {
    const name = `${input.name}.${part}`;
    let hidden = form.elements.namedItem(name);
    if (!hidden) {
      hidden = document.createElement("input");
      hidden.type = "hidden";
      hidden.name = name;
      form.append(hidden);
    }
    hidden.value = value;
  }
  const drop = form.elements.namedItem(`${input.name}.drop`);
  if (drop) drop.checked = false;
  input.disabled = true; // its file is not sent twice
}

// tellProblem shows the problem of an upload field, or takes it away if text is empty.
function tellProblem(input, text) {
  const id = input.id + "-large";
  const replaced = [id, input.id + "-error"];
  const others = (input.getAttribute("aria-describedby") || "").split(" ").filter((name) => name && !replaced.includes(name));
  for (const old of replaced) document.getElementById(old)?.remove();
  input.closest(".field").classList.toggle("invalid", text !== "");
  if (text) {
    const error = document.createElement("p");
    error.id = id;
    error.className = "error";
    error.setAttribute("role", "alert");
    error.textContent = text;
    const upload = input.closest("[data-upload]");
    upload.before(error);
    upload.querySelector(".status").textContent = ""; // which says that the file is ready
    others.push(id);
    input.dataset.refused = "yes";
    input.setAttribute("aria-invalid", "true");
  } else {
    delete input.dataset.refused;
    input.removeAttribute("aria-invalid");
  }
  input.setAttribute("aria-describedby", others.join(" "));
}

// The check of a photo. It is a hint: a person decides whether the photo is used.
const smallestSide = 600; // pixels
const leastSharpness = 25; // the variance of the Laplacian of a picture of 480 pixels

// doubtOf returns what is wrong with a picture: small, blurred, or nothing.
function doubtOf(picture) {
  if (Math.min(picture.width, picture.height) < smallestSide) return "small";
  return sharpness(picture) < leastSharpness ? "blurred" : "";
}

// sharpness returns the variance of the Laplacian: edges of a sharp picture are steep.
function sharpness(picture) {
  const part = 480 / Math.max(picture.width, picture.height);
  const width = Math.max(3, Math.round(picture.width * part));
  const height = Math.max(3, Math.round(picture.height * part));
  const sheet = document.createElement("canvas");
  sheet.width = width;
  sheet.height = height;
  const pen = sheet.getContext("2d", { willReadFrequently: true });
  pen.drawImage(picture, 0, 0, width, height);
  const { data } = pen.getImageData(0, 0, width, height);
  const grey = new Float32Array(width * height);
  for (let i = 0; i < grey.length; i++) grey[i] = 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2];
  let sum = 0;
  let squares = 0;
  let count = 0;
  for (let y = 1; y < height - 1; y++) {
    for (let x = 1; x < width - 1; x++) {
      const i = y * width + x;
      const edge = grey[i - 1] + grey[i + 1] + grey[i - width] + grey[i + width] - 4 * grey[i];
      sum += edge;
      squares += edge * edge;
      count++;
    }
  }
  return squares / count - (sum / count) ** 2;
}

// A draft of the form that is open, so that a reload loses nothing that was typed. It is kept in
// the tab until the step is over; files are not part of it.
const draftKey = `draft:${location.pathname}`;
const drafting = document.querySelector("form[data-draft]");
try {
  const kept = JSON.parse(sessionStorage.getItem(draftKey) || "{}");
  if (!drafting || kept.wait !== drafting.dataset.draft) sessionStorage.removeItem(draftKey);
  if (drafting) {
    const skipped = ["wait", "screen", "do"];
    if (kept.wait === drafting.dataset.draft && "fresh" in drafting.dataset) {
      const posted = () => [...drafting.querySelectorAll("[data-rows]")].map((rows) => rows.value).join(";");
      const shown = posted();
      for (const [name, value] of kept.values) {
        const input = drafting.elements.namedItem(name);
        if (!input) {
          const hidden = document.createElement("input");
          Object.assign(hidden, { type: "hidden", name, value });
          drafting.append(hidden);
        } else if (input.type === "checkbox") {
          input.checked = true;
        } else if (input.type !== "file") {
          input.value = value;
        }
      }
      if (posted() !== shown) { // the page has other rows: the server shows those of the draft
        const hidden = document.createElement("input");
        Object.assign(hidden, { type: "hidden", name: "do", value: "rows" });
        drafting.append(hidden);
        drafting.submit();
      }
    }
    const save = () => {
      const values = [...new FormData(drafting)].filter(([name, value]) => typeof value === "string" && value !== "" && !skipped.includes(name));
      sessionStorage.setItem(draftKey, JSON.stringify({ wait: drafting.dataset.draft, values }));
    };
    drafting.addEventListener("input", save);
    drafting.addEventListener("submit", save);
  }
} catch {
  // The browser keeps nothing for this page.
}

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

  // show shows the chosen file, and asks whether a photo that the page took, or one in doubt,
  // is used, unless calm.
  const show = async (calm) => {
    const file = input.files[0];
    const asked = taken;
    const mine = ++shown;
    find("preview").hidden = !file;
    find("remove").hidden = !file;
    again(find("choose"), file);
    again(open, file && taken);
    accept();
    canvas.hidden = true;
    if (!file) return;
    find("document").hidden = true;
    find("name").textContent = asked ? "" : file.name;
    try {
      const picture = await createImageBitmap(file);
      if (mine === shown) {
        const part = Math.min(1, 1200 / Math.max(picture.width, picture.height));
        draw(picture, Math.max(1, Math.round(picture.width * part)), Math.max(1, Math.round(picture.height * part)));
        const doubt = judge && !input.dataset.refused && !calm ? doubtOf(picture) : "";
        if (doubt || asked) ask(doubt, true);
      }
      picture.close();
    } catch {
      if (mine === shown) find("document").hidden = false; // not an image, or one that the browser cannot show
    }
  };

  const checkSize = () => {
    const large = input.files.length > 0 && input.files[0].size > Number(input.dataset.max);
    tellProblem(input, large ? input.dataset.large : "");
  };

  // While the camera is on, or a photo is in doubt, the form has no other button.
  const judge = find("judge");
  const form = input.form;
  const settle = () => {
    const busy = form.querySelector("[data-live]:not([hidden]), [data-judge]:not([hidden])");
    for (const buttons of form.querySelectorAll(":scope > .buttons")) buttons.hidden = Boolean(busy);
  };
  const accept = () => {
    if (judge) judge.hidden = true;
    choices.hidden = false;
    settle();
  };
  const ask = (doubt, focus) => {
    const text = judge.querySelector("p");
    const use = find("use");
    use.dataset.text ??= use.textContent;
    use.textContent = doubt ? use.dataset.anyway : use.dataset.text;
    use.classList.toggle("quiet", Boolean(doubt));
    find("redo").classList.toggle("quiet", !doubt);
    text.textContent = text.dataset[doubt || "good"];
    text.className = doubt ? "error" : "";
    choices.hidden = true;
    judge.hidden = false;
    tell(""); // nothing is ready before the answer
    settle();
    if (focus) (doubt ? find("redo") : use).focus();
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
    if (open) open.dataset.taken = taken ? "yes" : "";
    if (!taken) {
      close("");
      tell(chosen());
    }
    show(false);
  });
  find("use")?.addEventListener("click", () => {
    accept();
    tell(open?.dataset.taken ? status.dataset.taken : status.dataset.chosen);
    (open && !open.hidden ? open : input).focus();
  });
  find("redo")?.addEventListener("click", () => {
    if (open?.dataset.taken) open.click();
    else input.click();
  });
  addEventListener("pageshow", () => { if (input.files.length > 0) show(true); }); // the back button keeps the file
  if (!open || !canShoot) continue;

  // The page takes a photo and puts it into the input.
  let facing = input.getAttribute("capture") || "environment";
  input.removeAttribute("capture"); // so that a phone also offers its pictures
  open.hidden = false;
  const live = find("live");
  const shoot = find("shoot");
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
    accept();
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
      if (judge) judge.hidden = true;
      find("preview").hidden = true;
      settle();
      tell(status.dataset.ready);
      shoot.focus();
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
  shoot.addEventListener("click", () => {
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
      close("");
      taken = true;
      input.dispatchEvent(new Event("change", { bubbles: true }));
      taken = false;
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
  // On a page of its own the location comes first, and the way on after it.
  const form = place.closest("form");
  const onward = form.dataset.place && form.querySelector(":scope > .buttons button:not([name])");
  const prefer = (shared) => {
    if (!onward) return;
    onward.hidden = !shared && form.dataset.place === "required";
    onward.classList.toggle("quiet", !shared);
    share.querySelector("button").classList.toggle("quiet", shared);
  };
  prefer(part("latitude").value !== "");
  share.hidden = false;
  share.querySelector("button").addEventListener("click", () => {
    tell(status.dataset.asking);
    navigator.geolocation.getCurrentPosition((found) => {
      part("latitude").value = found.coords.latitude.toFixed(6);
      part("longitude").value = found.coords.longitude.toFixed(6);
      part("accuracy").value = Math.ceil(found.coords.accuracy).toFixed(0);
      if (denied) denied.checked = false;
      tell(status.dataset.shared);
      prefer(true);
      if (onward) onward.focus();
    }, (refused) => {
      forget();
      prefer(false);
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

// A page with a way to a phone follows the run for ten minutes: the phone may answer the step.
const follow = document.querySelector("[data-follow]");
if (follow && follow.checkVisibility()) {
  const until = Date.now() + 600000;
  const look = async () => {
    try {
      const answer = document.visibilityState === "visible" && !document.querySelector("form[data-sent]") && (await fetch(location.pathname + "/state", { cache: "no-store" }));
      if (answer && answer.ok && (await answer.text()) !== follow.dataset.follow && !document.querySelector("form[data-sent]")) {
        location.replace(location.href.replace(/#.*/, ""));
        return;
      }
    } catch {
      // Offline, or the host is busy: look again later.
    }
    if (Date.now() < until) setTimeout(look, 4000);
  };
  setTimeout(look, 4000);
}

// The end page sends the customer back to the client.
const leave = document.querySelector("a[data-leave]");
if (leave) setTimeout(() => location.replace(leave.href), 2500);
