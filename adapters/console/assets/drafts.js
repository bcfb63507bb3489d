// Keeps the texts of <textarea data-draft> in the session storage of the tab, so that
// an error or the end of the session loses none of them. A draft belongs to a person,
// a page and a field.

const prefix = "draft ";
const sent = "sent ";

function keyOf(area) {
  const action = (area.form?.getAttribute("action") ?? "").split("?")[0]; // the query is the list that the run was opened from
  return `${document.body.dataset.person} ${location.pathname} ${action} ${area.name}`;
}

// keepDrafts restores and saves the drafts of a page. The message that something was
// done shows that the server has taken what was sent before: those drafts are removed.
export function keepDrafts(root) {
  if (!document.body.dataset.person) {
    return;
  }
  if (document.querySelector("[data-done]")) {
    for (const key of Object.keys(sessionStorage).filter((k) => k.startsWith(sent))) {
      sessionStorage.removeItem(prefix + key.slice(sent.length));
      sessionStorage.removeItem(key);
    }
  }
  for (const area of root.querySelectorAll("textarea[data-draft]")) {
    const key = keyOf(area);
    sessionStorage.removeItem(sent + key); // it was not taken
    const draft = sessionStorage.getItem(prefix + key);
    if (draft !== null && area.value === "") {
      area.value = draft;
    }
    area.addEventListener("input", () => sessionStorage.setItem(prefix + key, area.value));
    area.form?.addEventListener("submit", (event) => event.defaultPrevented || sessionStorage.setItem(sent + key, ""));
  }
}

// dropDrafts removes the drafts of a form.
export function dropDrafts(form) {
  for (const area of form.querySelectorAll("textarea[data-draft]")) {
    sessionStorage.removeItem(prefix + keyOf(area));
  }
}

// forgetDrafts removes all drafts of the tab.
export function forgetDrafts() {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(prefix) || key.startsWith(sent)) {
      sessionStorage.removeItem(key);
    }
  }
}
