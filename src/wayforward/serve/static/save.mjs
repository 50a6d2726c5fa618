// Saves a page of a study while somebody fills it in. The button does the same without this script.

const form = document.getElementById("page"), said = document.getElementById("saved");
const soon = 1500; // milliseconds after the last change
let waiting = 0, under_way = null;

async function save() {
  waiting = 0;
  const sent = new FormData(form);
  sent.set("later", "1");
  const answer = await fetch(form.action, {
    method: "POST",
    keepalive: true,
    headers: { Accept: "application/json", "X-Form-Token": sent.get("token"), "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(sent),
  });
  if (!answer.headers.get("content-type").includes("json")) return; // whoever sends the page sees why
  const { revision, note } = await answer.json();
  if (revision !== undefined) form.elements.revision.value = revision;
  if (said.textContent.trim() === note) return; // nobody hears it twice
  const line = document.createElement("p");
  line.className = "note";
  line.textContent = note;
  said.replaceChildren(line);
}

function start() {
  const turn = (under_way ?? Promise.resolve()).then(save).catch(() => {}).then(() => { if (under_way === turn) under_way = null; });
  under_way = turn;
}

form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(start, soon);
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden && waiting) { clearTimeout(waiting); start(); }
});
form.addEventListener("submit", async (event) => {
  clearTimeout(waiting);
  waiting = 0;
  if (!under_way) return;
  event.preventDefault(); // the page that is sent carries the revision of what was saved
  const pressed = event.submitter;
  await under_way;
  setTimeout(() => form.requestSubmit(pressed)); // not inside the event: a form that is being sent is not sent again
});
