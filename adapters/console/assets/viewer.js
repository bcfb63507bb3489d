// The viewer of images: zoom, rotation, and two images side by side.

const viewer = document.querySelector("[data-viewer]");
const images = [...document.querySelectorAll("a[data-image]")];
const maxZoom = 8;

// pane shows one image.
class Pane {
  constructor(link) {
    this.element = viewer.querySelector("template").content.firstElementChild.cloneNode(true);
    this.stage = this.element.querySelector(".stage");
    this.choice = this.element.querySelector("[data-choose]");
    for (const other of images) {
      this.choice.add(new Option(other.dataset.label, images.indexOf(other)));
    }
    this.choice.addEventListener("change", () => this.show(images[this.choice.value]));
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
    this.choice.value = images.indexOf(link);
    this.stage.setAttribute("aria-label", link.dataset.label);
    this.image = link.querySelector("img").cloneNode();
    this.image.loading = "eager";
    this.frame = document.createElement("div");
    this.frame.append(this.image);
    this.stage.replaceChildren(this.frame);
    this.angle = 0;
    this.image.decode().then(() => this.fit(), () => this.fit());
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
    this.element.querySelector("[data-scale]").value = `${Math.round(this.zoom * 100)} %`;
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

function arrange() {
  viewer.querySelector(".panes").replaceChildren(...panes.map((pane) => pane.element));
  viewer.dataset.panes = panes.length;
  for (const pane of panes) {
    const button = pane.element.querySelector("[data-compare]");
    button.hidden = images.length < 2;
    button.setAttribute("aria-pressed", panes.length > 1);
    pane.show(pane.link);
  }
}

// compare shows a second image beside the first, or only the first again.
function compare() {
  const [first] = panes;
  if (panes.length > 1) {
    panes = [first];
  } else {
    panes = [first, new Pane(images.find((link) => link !== first.link))];
  }
  arrange();
  first.element.querySelector("[data-compare]").focus();
}

for (const link of viewer ? images : []) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    event.preventDefault();
    viewer.showModal();
    panes = [new Pane(link)];
    arrange();
    panes[0].stage.focus();
  });
}

viewer?.addEventListener("close", () => {
  const link = panes[0]?.link;
  panes = [];
  viewer.querySelector(".panes").replaceChildren();
  if (document.activeElement === document.body || images.includes(document.activeElement)) {
    link?.focus(); // the browser has put the focus on the first one; the person may have moved it since
  }
});
addEventListener("resize", () => panes.forEach((pane) => pane.draw()));
