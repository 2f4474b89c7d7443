// The plain page's script: asks, shows the turn. The answer's HTML comes from the server and holds no active markup;
// it is parsed into an inert document and copied by an allow-list all the same.
"use strict";

const form = document.getElementById("ask");
const input = document.getElementById("question");
const log = document.getElementById("log");
const ALLOWED = new Set("P STRONG EM CODE PRE UL OL LI A H1 H2 H3 H4 H5 H6 BLOCKQUOTE TABLE THEAD TBODY TR TH TD BR S DEL HR".split(" "));
let token = null;
let conversation = null;

function el(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

function link(href, text) {
  const node = el("a", "", text);
  if (/^(\/(?!\/)|https?:|mailto:)/.test(href)) node.href = href;
  return node;
}

function copy(from, to) {
  for (const node of from.childNodes) {
    if (node.nodeType === 3) to.append(node.textContent);
    if (node.nodeType !== 1) continue;
    if (!ALLOWED.has(node.tagName)) { copy(node, to); continue; }
    const made = node.tagName === "A" ? link(node.getAttribute("href") || "", "") : el(node.tagName.toLowerCase());
    copy(node, made);
    to.append(made);
  }
}

function show(box, turn) {
  box.querySelector(".answer").replaceChildren();
  copy(new DOMParser().parseFromString(turn.answer_html, "text/html").body, box.querySelector(".answer"));
  for (const item of turn.evidence) {
    const quote = el("blockquote", "excerpts", item.quote);
    quote.append(" ", item.url ? link(item.url, item.title) : item.title);
    box.append(quote);
  }
  const shown = turn.sources.filter((source) => source.show !== false);
  if (shown.length) {
    const row = el("p", "sources", `${form.dataset.sources} `);
    for (const source of shown) row.append(source.url ? link(source.url, source.title) : source.title, " ");
    box.append(row);
  }
}

async function ask(question) {
  const box = el("section", "turn");
  box.append(el("p", "question", question), el("div", "answer", "…"));
  log.append(box);
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    const reply = await fetch("/v1/ask", {
      method: "POST", headers, body: JSON.stringify({ question, conversation_id: conversation }),
    });
    const turn = await reply.json();
    if (!reply.ok) throw new Error(turn.detail || turn.title);
    token = turn.token || token;
    conversation = turn.conversation_id;
    show(box, turn);
  } catch (error) {
    box.querySelector(".answer").textContent = `${form.dataset.failed} ${error.message}`;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (question) ask(question);
  input.value = "";
});
for (const button of document.querySelectorAll(".starter")) {
  button.addEventListener("click", () => ask(button.textContent));
}
