// The self-check: one plain verdict for each thing that has kept a widget from working on somebody's page.

const list = document.getElementById("verdicts");
const violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));

function verdict(name, good, text) {
  const item = document.createElement("li");
  item.dataset.check = name;
  item.dataset.good = String(good);
  const mark = document.createElement("strong");
  mark.textContent = good === null ? "Not checked" : good ? "Good" : "Problem";
  item.append(mark, " ", text);
  list.append(item);
}

function storage() {
  try {
    localStorage.setItem("refdesk:check", "1");
    localStorage.removeItem("refdesk:check");
    verdict("storage", true, "Storage works: a conversation survives a reload.");
  } catch {
    verdict("storage", false, "Storage is blocked: the widget works, but forgets the conversation when the page is left.");
  }
}

function framing() {
  const framed = window.top !== window;
  verdict(
    "framing",
    !framed,
    framed
      ? "This page is inside a frame: a browser may keep its storage apart or block it. Load the widget in the outer page."
      : "The page is not inside a frame.",
  );
}

function duplicate() {
  const scripts = document.querySelectorAll('script[src*="/widget/refdesk.js"]').length;
  const floating = document.querySelectorAll("refdesk-chat:not([inline])").length;
  if (!window.Refdesk?.version) verdict("script", false, "The widget's script did not run: see the browser's console.");
  else verdict("script", true, "The widget's script runs.");
  const good = scripts <= 1 && floating <= 1;
  verdict("duplicate", good, good ? "The widget is on the page once." : `The script tag stands here ${scripts} times; one is enough.`);
}

/** Whether a policy lets the widget load, ask, and show the pictures of articles. */
function policy(text, host) {
  const directives = new Map();
  for (const part of text.replace(/^content-security-policy:/i, "").split(";")) {
    const [name, ...values] = part.trim().split(/\s+/);
    if (name && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), values);
  }
  const name = new URL(host).host;
  const wildcard = (value) => value.startsWith("*.") && name.endsWith(value.slice(1));
  const allows = (values) => {
    const bare = values.map((value) => value.replace(/^https?:\/\//, "").replace(/\/.*$/, ""));
    return values.includes("*") || values.includes("https:") || bare.some((value) => value === name || wildcard(value));
  };
  return ["script-src", "connect-src", "img-src"].filter((directive) => {
    const values = directives.get(directive) ?? directives.get("default-src");
    return values !== undefined && !allows(values);
  });
}

function policies(text) {
  if (text.trim()) {
    const missing = policy(text, location.origin);
    const add = missing.map((directive) => `${directive} ${location.origin}`).join("; ");
    verdict("csp", !missing.length, missing.length ? `Your policy keeps the widget out. Add: ${add}` : "Your policy lets the widget in.");
  } else {
    verdict("csp", violations.length ? false : null, violations.length ? `This page's policy refused: ${violations.join(", ")}.` : "No policy was given; without one nothing is refused.");
  }
}

async function stream(origin) {
  const arrivals = [];
  const query = origin ? `?origin=${encodeURIComponent(origin)}` : "";
  let last = null;
  try {
    const response = await fetch(`/v1/widget/check${query}`, { credentials: "omit", cache: "no-store" });
    if (!response.ok) throw new Error(String(response.status));
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      for (const line of decoder.decode(value, { stream: true }).split("\n")) {
        if (!line.startsWith("data:")) continue;
        arrivals.push(performance.now());
        last = { ...JSON.parse(line.slice(5)), at: Date.now() };
      }
    }
  } catch (error) {
    verdict("buffering", false, `The timed stream failed (${error.message}).`);
    return;
  }
  const spread = arrivals.at(-1) - arrivals[0];
  const flows = arrivals.length > 1 && spread > 400;
  verdict(
    "buffering",
    flows,
    flows
      ? `Answers arrive as they are written (${arrivals.length} events over ${Math.round(spread)} ms).`
      : "Something between here and the server collects the stream and delivers it at once: switch off buffering for /v1 in the proxy.",
  );
  const off = Math.round(last.at / 1000 - last.now);
  const good = Math.abs(off) < 60;
  verdict("clock", good, good ? "This device's clock and the server's agree." : `This device's clock is ${off} s away from the server's: sign-in tokens may be refused.`);
  if (origin) {
    verdict("origin", last.allowed, last.allowed ? `Pages of ${origin} may ask.` : `Pages of ${origin} may not ask: add it to REFDESK_ALLOWED_ORIGINS.`);
  } else {
    verdict("origin", null, "No address was given.");
  }
}

function originOf(text) {
  try {
    return new URL(text).origin;
  } catch {
    return text.trim();
  }
}

async function check() {
  list.replaceChildren();
  storage();
  framing();
  duplicate();
  policies(document.getElementById("policy").value);
  await stream(originOf(document.getElementById("origin").value));
  list.dataset.done = "true";
}

document.getElementById("asked").addEventListener("submit", (event) => {
  event.preventDefault();
  list.removeAttribute("data-done");
  void check();
});
window.addEventListener("load", () => void check());
