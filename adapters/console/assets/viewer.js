// The viewer of images: zoom, rotation, and two images side by side, with the data that they
// are compared with and the way to the verdict.

import { begin } from "./begun.js";

const viewer = document.querySelector("[data-viewer]");
const links = [...document.querySelectorAll("a[data-image]")];
const maxZoom = 8;
const maxFacts = 12; // of a step

// A page that cannot be drawn is a file only.
function undrawn(image) {
  const line = image.closest("figure")?.querySelector("[data-undrawn]");
  if (line) {
    line.hidden = false;
    image.closest("a").remove();
  }
}
for (const image of links.map((link) => link.querySelector("img"))) {
  image.addEventListener("error", () => undrawn(image));
  if (image.complete && image.naturalWidth === 0) {
    undrawn(image);
  }
}

// images returns the links of all images. A portrait may also be a document of a step.
function images() {
  const all = links.filter((link) => link.isConnected);
  return all.filter((link) => all.find((other) => other.dataset.image === link.dataset.image) === link);
}

// pane shows one image.
class Pane {
  constructor(link) {
    this.element = viewer.querySelector("template").content.firstElementChild.cloneNode(true);
    this.stage = this.element.querySelector(".stage");
    this.choice = this.element.querySelector("[data-choose]");
    for (const other of images()) {
      this.choice.add(new Option(other.dataset.label, other.dataset.image));
    }
    this.choice.addEventListener("change", () => {
      this.show(images().find((other) => other.dataset.image === this.choice.value));
      showStep();
    });
    this.on("[data-zoom=in]", () => this.scale(1.25));
    this.on("[data-zoom=out]", () => this.scale(0.8));
    this.on("[data-turn]", () => this.turn());
    this.on("[data-fit]", () => this.fit());
    this.on("[data-compare]", () => compare());
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("wheel", (event) => {
      if (event.ctrlKey) {
        event.preventDefault();
        this.scale(event.deltaY < 0 ? 1.1 : 0.9);
      }
    }, {passive: false});
    this.drag();
    this.link = link;
  }

  on(selector, action) { this.element.querySelector(selector).addEventListener("click", action); }

  show(link) {
    this.link = link;
    this.choice.value = link.dataset.image;
    const download = this.element.querySelector("[data-download]");
    download.hidden = !link.dataset.file;
    download.href = link.dataset.file ?? "";
    this.stage.setAttribute("aria-label", link.dataset.label);
    this.image = link.querySelector("img").cloneNode();
    this.image.loading = "eager";
    this.frame = document.createElement("div");
    this.frame.append(this.image);
    this.stage.replaceChildren(this.frame);
    this.angle = 0;
    const shown = this.image;
    shown.decode().then(() => this.fit(), () => {
      const line = link.closest("figure")?.querySelector("[data-undrawn]")?.cloneNode(true);
      if (line && this.image === shown) {
        line.hidden = false;
        this.stage.replaceChildren(line);
      }
    });
  }

  fit() {
    this.zoom = 1;
    this.draw();
  }

  scale(factor) {
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.25), maxZoom);
    this.draw();
  }

  turn() {
    this.angle = (this.angle + 90) % 360;
    this.draw();
  }

  key(event) {
    const action = {"+": () => this.scale(1.25), "=": () => this.scale(1.25), "-": () => this.scale(0.8), r: () => this.turn(), 0: () => this.fit()}[event.key];
    if (action && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      action();
    }
  }

  // draw sizes the image to the stage, times the zoom.
  draw() {
    const {naturalWidth: width, naturalHeight: height} = this.image;
    const lies = this.angle % 180 !== 0;
    const [across, down] = lies ? [height, width] : [width, height];
    const size = Math.min(this.stage.clientWidth / across, this.stage.clientHeight / down) * this.zoom;
    if (!Number.isFinite(size)) {
      return;
    }
    Object.assign(this.frame.style, {width: `${across * size}px`, height: `${down * size}px`});
    Object.assign(this.image.style, {width: `${width * size}px`, height: `${height * size}px`, transform: `translate(-50%, -50%) rotate(${this.angle}deg)`});
    this.element.querySelector("[data-scale]").value = this.zoom === 1 ? viewer.dataset.fitted : `${Math.round(this.zoom * 100)} %`;
  }

  // drag moves the image under the pointer.
  drag() {
    this.stage.addEventListener("pointerdown", (down) => {
      if (down.pointerType !== "mouse" || down.button !== 0) {
        return; // a finger scrolls
      }
      down.preventDefault();
      this.stage.focus();
      const from = {left: this.stage.scrollLeft, top: this.stage.scrollTop};
      const move = (event) => this.stage.scrollTo({left: from.left - event.clientX + down.clientX, top: from.top - event.clientY + down.clientY});
      this.stage.setPointerCapture(down.pointerId);
      this.stage.addEventListener("pointermove", move);
      this.stage.addEventListener("pointerup", () => this.stage.removeEventListener("pointermove", move), {once: true});
      this.stage.addEventListener("pointercancel", () => this.stage.removeEventListener("pointermove", move), {once: true});
    });
  }
}

let panes = [];
let opener; // the link of the image that was opened

function arrange() {
  viewer.querySelector(".panes").replaceChildren(...panes.map((pane) => pane.element));
  viewer.dataset.panes = panes.length;
  for (const pane of panes) {
    const button = pane.element.querySelector("[data-compare]");
    button.hidden = images().length < 2 || pane !== panes[0];
    button.setAttribute("aria-pressed", panes.length > 1);
    pane.show(pane.link);
  }
  showStep();
}

// compare shows the portrait beside the first image, else the next one, or only the first again.
function compare() {
  const [first] = panes;
  if (panes.length > 1) {
    panes = [first];
  } else {
    const all = images(), at = all.findIndex((link) => link.dataset.image === first.link.dataset.image);
    const others = [...all.slice(at + 1), ...all.slice(0, at)];
    const second = all[at].dataset.face === undefined ? others.find((link) => link.dataset.face !== undefined) : undefined;
    panes = [first, new Pane(second ?? others[0])];
  }
  arrange();
  first.element.querySelector("[data-compare]").focus();
}

// showStep shows the first values of the steps that the images belong to.
function showStep() {
  const tables = new Set(panes.map(({link}) => links
    .filter((other) => other.dataset.image === link.dataset.image)
    .map((other) => other.closest(".documents")?.parentElement.querySelector(":scope > table.data"))
    .find(Boolean)));
  tables.delete(undefined);
  const facts = [...tables].flatMap((table) => [...table.tBodies[0].rows]).filter((row) => !row.matches(".nested"));
  const step = viewer.querySelector("[data-step]");
  step.replaceChildren(...facts.slice(0, maxFacts).map((row) => {
    const fact = document.createElement("div");
    for (const [name, cell] of [["dt", row.cells[0]], ["dd", row.cells[1]]]) {
      const part = document.createElement(name);
      part.append(...cell.cloneNode(true).childNodes);
      fact.append(part);
    }
    return fact;
  }));
  step.hidden = facts.length === 0;
}

// offerVerdicts shows the buttons of the verdict. They lead to those of the form.
function offerVerdicts() {
  const all = [...document.querySelectorAll("form.decide button[name=decision]")].filter((button) => button.checkVisibility());
  viewer.querySelector("[data-verdicts]").replaceChildren(...all.map((original) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `${original.className} small`;
    button.append(...original.cloneNode(true).childNodes);
    button.addEventListener("click", () => {
      viewer.close();
      begin(original);
    });
    return button;
  }));
}

viewer?.addEventListener("keydown", (event) => {
  if (event.key === "c" && !event.target.closest("select") && !event.ctrlKey && !event.metaKey && !event.altKey && images().length > 1) {
    event.preventDefault();
    compare();
  }
});

// open shows images side by side.
function open(from, shown) {
  offerVerdicts();
  viewer.showModal();
  panes = shown.map((link) => new Pane(images().find((one) => one.dataset.image === link.dataset.image)));
  opener = from;
  arrange();
  panes[0].stage.focus();
}

for (const link of viewer ? links : []) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    event.preventDefault();
    open(link, [link]);
  });
}

// The key c, and the pictures of a check (see keys.js).
document.addEventListener("compare", (event) => {
  const all = links.filter((link) => link.isConnected && event.target.contains(link)).slice(0, 2);
  if (viewer && all.length > 0) {
    open(all[0], all);
  }
});

viewer?.addEventListener("close", () => {
  panes = [];
  for (const part of [".panes", "[data-step]", "[data-verdicts]"]) {
    viewer.querySelector(part).replaceChildren();
  }
  if (document.activeElement === document.body || links.includes(document.activeElement)) {
    opener?.focus(); // the browser has put the focus on the first one; the person may have moved it since
  }
});
addEventListener("resize", () => panes.forEach((pane) => pane.draw()));
