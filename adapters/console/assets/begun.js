// A verdict, or a decision on a hit, that a letter has begun. Its button is the first one of its
// form, and no other decision of the form is reached with a key until Escape ends it: who rejects
// with a letter cannot approve with the next keys. What is typed meanwhile goes to the notes.

const decisions = "button[name=decision], button[name=match]";
const typed = ["Process", "Dead", "Unidentified"]; // keys of an input method
export const shown = (element) => element.checkVisibility();

let begun = null; // the button
let letter = ""; // that has begun it
let reached = false; // a letter has put the focus on it, and not the Tab key
let chooses = false; // the next digit is the reason of a rejection

// textOf returns the notes of a verdict, or the reason of a decision on a hit.
const textOf = (form) => form?.querySelector("textarea[name=notes], input[name=reason]");

// isText reports whether a key is a part of a text.
export const isText = (key) => key.length === 1 || typed.includes(key);

// mark puts a decision first in its form, and takes the others out of the order of the Tab key.
function mark(button) {
  begun = button;
  const form = button.form, asks = button.closest("form details");
  const buttons = [...form.querySelectorAll(".buttons")].find((one) => !one.closest("form details"));
  if (asks) { // a question comes first
    buttons.before(asks);
  } else {
    buttons.prepend(button);
  }
  for (const other of form.querySelectorAll(decisions)) {
    other.tabIndex = other === button ? 0 : -1;
  }
  const says = form.querySelector("[data-says]"), name = document.createElement("b");
  name.textContent = button.textContent.trim();
  says?.replaceChildren(name, ` ${says.dataset.begun}`);
}

// reach puts the focus on what was begun, or on what hides it.
function reach() {
  const hides = [begun, begun.closest("form details")?.querySelector("summary"), begun.form.closest("details")?.querySelector("summary")];
  const target = hides.find((one) => one && shown(one));
  target?.focus();
  target?.scrollIntoView({block: "nearest"});
  reached = true;
}

// begin begins a decision.
export function begin(button, key = "") {
  end();
  mark(button);
  reach();
  letter = key;
  chooses = button.value === "reject";
}

// end ends what was begun. No button has the focus then.
function end() {
  if (!begun) {
    return;
  }
  for (const other of begun.form.querySelectorAll(decisions)) {
    other.removeAttribute("tabindex");
  }
  begun.form.querySelector("[data-says]")?.replaceChildren();
  leave(begun.form);
  begun = null;
}

// leave puts the focus on the heading of a form.
function leave(form) {
  (form.closest(".hit")?.querySelector("[data-row]") ?? document.querySelector(form.closest("#hits") ? "#hits-title" : "#verdict"))?.focus();
}

// endBegun handles Escape: it leaves a field of a decision, and then ends the decision.
export function endBegun(field) {
  const form = field?.form;
  if (form?.querySelector(decisions)) {
    if (begun?.form === form) {
      reach();
    } else {
      leave(form);
    }
  } else if (begun && !field) {
    end();
  }
}

// give gives the decision that was begun, in its notes or on its button. It reports whether the
// key was for it.
export function give(target) {
  const form = target.form, says = form?.querySelector("[data-says]");
  if (!form?.querySelector(decisions) || target !== textOf(form) && target !== begun) {
    return false;
  }
  if (begun?.form !== form) {
    says.textContent = says.dataset.none;
  } else if (shown(begun)) {
    form.requestSubmit(begun);
  } else {
    begun.closest("form details").open = true;
    begun.focus();
  }
  return true;
}

// take takes a key outside of every field while something is begun. It reports whether it has.
export function take(event) {
  if (!begun) {
    return false;
  }
  const text = textOf(begun.form), reason = begun.form.querySelector("select[name=reason]"), key = event.key;
  const digit = chooses && /^[1-9]$/.test(key) && reason?.options[key];
  chooses = false;
  if (key === "Tab" || !isText(key) || key === " " && !reached) {
    reached = reached && key !== "Tab";
    return true;
  }
  if (key === letter && event.target.matches("summary")) { // what hid the button may be open now
    event.preventDefault();
    reach();
  } else if (digit && shown(reason)) {
    reason.selectedIndex = Number(key);
    event.preventDefault();
  } else if (!shown(text)) {
    event.preventDefault();
  } else {
    text.focus();
    text.setSelectionRange(text.value.length, text.value.length);
    if (key === "v") { // the key of the verdict
      event.preventDefault();
    }
  }
  return true;
}

// adopt takes the forms of a page that has come: a form that was refused names its decision.
export function adopt() {
  begun = begun?.isConnected ? begun : null;
  const refused = document.querySelector("form[data-begun]");
  const again = [...refused?.querySelectorAll(decisions) ?? []].find((button) => button.value === refused.dataset.begun);
  if (again) {
    mark(again);
  }
}
adopt();
