// The self-check: one plain verdict for each thing that has kept a widget from working on somebody's page. It runs in the
// page where it is imported: on /demo/check, or, from the console, on the page that the widget is to stand on.

const HELP = new URL(import.meta.url).origin;
const LEAST_SPREAD = 400;
/** Milliseconds: the server sends its five events over a second; what comes closer together was collected on the way. */
const MOST_SKEW = 60;
/** Seconds of difference between the clocks; tokens of signed-in visitors live for hours, but begin at once. */
const REPORT_DELAY = 200;
/** Milliseconds: a browser tells of what its policy refused a moment after the request has failed. */

/** `good` is true, false, or null for what could not be checked. */
const verdict = (name, good, text) => ({ name, good, text });

function storage() {
  try {
    localStorage.setItem("refdesk:check", "1");
    localStorage.removeItem("refdesk:check");
    return verdict("storage", true, "Storage works: a conversation survives a reload.");
  } catch {
    const text = "Storage is blocked: the widget works, but forgets the conversation when the page is left.";
    return verdict("storage", false, text);
  }
}

function framing() {
  if (window.top === window) return verdict("framing", true, "The page is not inside a frame.");
  const text =
    "This page is inside a frame: a browser may keep its storage apart or block it. Load the widget in the outer page.";
  return verdict("framing", false, text);
}

function script() {
  if (window.Refdesk?.version) return verdict("script", true, "The widget's script runs.");
  const text = "The widget's script did not run: is the tag on the page, and what does the browser's console say?";
  return verdict("script", false, text);
}

function duplicate() {
  const scripts = document.querySelectorAll('script[src*="/widget/refdesk.js"]').length;
  const floating = document.querySelectorAll("refdesk-chat:not([inline])").length;
  if (scripts <= 1 && floating <= 1) return verdict("duplicate", true, "The widget is not on the page twice.");
  return verdict("duplicate", false, `The script tag stands here ${scripts} times; one is enough.`);
}

/** The directives of a policy that keep the help centre out. */
function kept(policy, help) {
  const directives = new Map();
  for (const part of policy.replace(/^content-security-policy:/i, "").split(";")) {
    const [name, ...values] = part.trim().split(/\s+/);
    if (name && !directives.has(name.toLowerCase())) directives.set(name.toLowerCase(), values);
  }
  const { host, protocol } = new URL(help);
  const allows = (value) => {
    if (value === "*" || value === protocol) return true;
    const [, scheme, name] = /^(https?:\/\/)?([^/]*)/.exec(value);
    if (scheme && scheme !== `${protocol}//`) return false;
    return name === host || (name.startsWith("*.") && host.endsWith(name.slice(1)));
  };
  return ["script-src", "connect-src", "img-src"].filter((directive) => {
    const values = directives.get(directive) ?? directives.get("default-src");
    return values !== undefined && !values.some(allows);
  });
}

/** The directives that this page's own policy enforces against the help centre while it is being checked. */
function watched() {
  const refused = new Set();
  const note = ({ effectiveDirective, blockedURI, disposition }) => {
    if (blockedURI.startsWith(HELP) && disposition === "enforce") refused.add(effectiveDirective.replace("-elem", ""));
  };
  document.addEventListener("securitypolicyviolation", note);
  return { refused, end: () => document.removeEventListener("securitypolicyviolation", note) };
}

/** A picture from the help centre, asked for only to see whether the policy lets it be asked for. */
function picture() {
  return new Promise((resolve) => {
    const image = new Image();
    image.onload = image.onerror = () => resolve();
    image.src = `${HELP}/widget/refdesk.js`;
  });
}

function policies(refused, given) {
  const missing = [...new Set([...refused, ...(given ? kept(given, HELP) : [])])];
  if (missing.length) {
    const add = missing.map((directive) => `${directive} ${HELP}`).join("; ");
    return verdict("csp", false, `The page's policy keeps the widget out. Add: ${add}`);
  }
  if (given) return verdict("csp", true, "The policy lets the widget in.");
  if (location.origin !== HELP) return verdict("csp", true, "The page's policy, if it has one, lets the widget in.");
  return verdict("csp", null, "No policy was given; without one nothing is refused.");
}

/** Asks for the timed stream. `arrivals` are times in milliseconds, `last` what the last event said. */
async function stream(origin) {
  const arrivals = [];
  let last = null;
  const response = await fetch(`${HELP}/v1/widget/check?origin=${encodeURIComponent(origin)}`, {
    credentials: "omit",
    cache: "no-store",
  });
  if (!response.ok) throw new Error(String(response.status));
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return { arrivals, last };
    for (const line of decoder.decode(value, { stream: true }).split("\n")) {
      if (!line.startsWith("data:")) continue;
      arrivals.push(performance.now());
      last = { ...JSON.parse(line.slice(5)), at: Date.now() / 1000 };
    }
  }
}

function buffering({ arrivals }) {
  const spread = Math.round(arrivals.at(-1) - arrivals[0]);
  if (spread > LEAST_SPREAD) {
    return verdict("buffering", true, `Answers arrive as they are written (${arrivals.length} events over ${spread} ms).`);
  }
  const text =
    "Something between here and the server collects the stream and delivers it at once: " +
    "switch off buffering for /v1 in the proxy.";
  return verdict("buffering", false, text);
}

function clock({ last }) {
  const off = Math.round(last.at - last.now);
  if (Math.abs(off) < MOST_SKEW) return verdict("clock", true, "This device's clock and the server's agree.");
  const text = `This device's clock is ${off} s away from the server's: sign-in tokens may be refused.`;
  return verdict("clock", false, text);
}

function allowed(origin, good) {
  if (!origin) return verdict("origin", null, "No address was given.");
  if (good) return verdict("origin", true, `Pages of ${origin} may ask.`);
  return verdict("origin", false, `Pages of ${origin} may not ask: add it to REFDESK_ALLOWED_ORIGINS.`);
}

async function connection(origin, refused) {
  try {
    const heard = await stream(origin);
    return [buffering(heard), clock(heard), allowed(origin, heard.last.allowed)];
  } catch (error) {
    await new Promise((resolve) => setTimeout(resolve, REPORT_DELAY));
    const unknown = ["buffering", "clock"].map((name) => verdict(name, null, `The stream failed (${error.message}).`));
    // a foreign page is not even told why it is refused
    const foreign = location.origin !== HELP && !refused.has("connect-src");
    return [...unknown, foreign ? allowed(location.origin, false) : verdict("origin", null, "The server was not reached.")];
  }
}

/** All verdicts. `origin` and `policy` of another page, if that is meant and not the one where this runs. */
export async function verdicts({ origin = location.origin === HELP ? "" : location.origin, policy = "" } = {}) {
  const { refused, end } = watched();
  await picture();
  const reached = await connection(origin, refused);
  end();
  return [storage(), framing(), script(), duplicate(), policies(refused, policy.trim()), ...reached];
}

const WORDS = new Map([[true, "Good"], [false, "Problem"], [null, "Not checked"]]);
export const word = ({ good }) => WORDS.get(good);

/** For the console: prints the verdicts and returns them. */
export async function report() {
  const found = await verdicts();
  for (const each of found) console[each.good === false ? "warn" : "info"](`${word(each)}: ${each.text}`);
  return found;
}
