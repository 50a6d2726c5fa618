// Puts the newest list of jobs in the place of the old one while something runs. The link above it does the same.

const every = 20_000; // milliseconds

async function again() {
  const old = document.getElementById("jobs");
  if (old.contains(document.activeElement)) return; // nobody loses what they are at
  const answer = await fetch("/staff/jobs");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const now = page.getElementById("jobs");
  if (!now) return clearInterval(turns); // logged out meanwhile
  old.replaceWith(now);
  if (!now.dataset.open) clearInterval(turns);
}

const turns = setInterval(() => again().catch(() => {}), every);
