// Asks the model while somebody moves a slider; the button does the same without this script.

import { withSliders } from "./ranges.mjs";

const form = document.getElementById("what-if");
const result = document.getElementById("result");
let waiting = 0, asked = 0;

async function ask() {
  const sent = new FormData(form), turn = ++asked;
  const answer = await fetch(form.action, {
    method: "POST",
    headers: { Accept: "application/json", "X-Form-Token": sent.get("token"), "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(sent),
  });
  if (!answer.headers.get("content-type").includes("json")) return form.submit(); // the page that comes says why
  const said = await answer.json();
  if (turn !== asked) return; // a later question is on its way, and its answer counts
  const line = document.createElement("p");
  const strong = document.createElement("strong");
  if (said.errors) {
    line.textContent = Object.entries(said.errors).map(([name, text]) => `${name} ${text}`.trim()).join(" ");
  } else {
    strong.textContent = `${said.accepted ? form.dataset.yes : form.dataset.no} `;
    line.append(strong, [said.text, ...said.broken].join(" "));
  }
  result.replaceChildren(line);
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(ask, 250);
}

withSliders(form, soon);
for (const choice of form.querySelectorAll("select")) choice.addEventListener("change", soon);
