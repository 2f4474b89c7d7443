// The page /demo/check: asks for what cannot be seen from here, and shows the verdicts.

import { verdicts, word } from "/widget/check.js";

const list = document.getElementById("verdicts");

function originOf(text) {
  try {
    return new URL(text).origin;
  } catch {
    return text.trim();
  }
}

function shown(verdict) {
  const item = document.createElement("li");
  item.dataset.check = verdict.name;
  item.dataset.good = String(verdict.good);
  const mark = document.createElement("strong");
  mark.textContent = word(verdict);
  item.append(mark, " ", verdict.text);
  return item;
}

async function check() {
  list.removeAttribute("data-done");
  const origin = originOf(document.getElementById("origin").value);
  const policy = document.getElementById("policy").value;
  list.replaceChildren(...(await verdicts({ origin, policy })).map(shown));
  list.dataset.done = "true";
}

document.getElementById("asked").addEventListener("submit", (event) => {
  event.preventDefault();
  void check();
});
if (document.readyState === "complete") void check();
else window.addEventListener("load", () => void check());
