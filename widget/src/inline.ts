// What stands inside a paragraph, a heading or a cell: CommonMark's inline marks, without raw HTML and references.

export type Inline =
  | { type: "text" | "code"; text: string }
  | { type: "break" }
  | { type: "em" | "strong" | "del"; children: Inline[] }
  | { type: "link" | "image"; href: string; children: Inline[] };

interface Delimiter {
  type: "run";
  char: string;
  length: number;
  opens: boolean;
  closes: boolean;
}

interface Bracket {
  at: number;
  image: boolean;
  active: boolean;
}

type Piece = Inline | Delimiter;

const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", shy: "\u00ad",
  copy: "©", reg: "®", trade: "™", hellip: "…", mdash: "—", ndash: "–", laquo: "«", raquo: "»",
  lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", bull: "•", middot: "·", deg: "°", times: "×", euro: "€", sect: "§",
};

export function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi, (whole, hex, decimal, name) => {
    if (name) return Object.hasOwn(NAMED, name) ? NAMED[name as string]! : whole;
    const code = hex ? parseInt(hex as string, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
  });
}

const ESCAPABLE = /[!-/:-@[-`{-~]/;
const unescape = (text: string): string => decodeEntities(text.replace(/\\([!-/:-@[-`{-~])/g, (_, char: string) => (char === "&" ? "&amp;" : char)));

export function parseInline(text: string): Inline[] {
  const pieces: Piece[] = [];
  const brackets: Bracket[] = [];
  let plain = "";
  const flush = () => {
    if (plain) pieces.push({ type: "text", text: decodeEntities(plain) });
    plain = "";
  };
  const put = (piece: Piece) => {
    flush();
    pieces.push(piece);
  };
  let at = 0;
  while (at < text.length) {
    const char = text[at]!;
    if (char === "\\" && ESCAPABLE.test(text[at + 1] ?? "")) {
      put({ type: "text", text: text[at + 1]! });
      at += 2;
    } else if (char === "\\" && text[at + 1] === "\n") {
      put({ type: "break" });
      at += 2;
    } else if (char === "\n") {
      if (/ {2,}$/.test(plain)) {
        plain = plain.trimEnd();
        put({ type: "break" });
      } else plain = `${plain.trimEnd()}\n`;
      at++;
      while (text[at] === " ") at++;
    } else if (char === "`") {
      const run = /^`+/.exec(text.slice(at))![0];
      const end = codeEnd(text, at + run.length, run.length);
      if (end < 0) plain += run;
      else put({ type: "code", text: codeText(text.slice(at + run.length, end)) });
      at = end < 0 ? at + run.length : end + run.length;
    } else if (char === "<") {
      const auto = /^<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>/i.exec(text.slice(at, at + 2100));
      if (auto) put({ type: "link", href: auto[1]!, children: [{ type: "text", text: auto[1]! }] });
      else plain += char;
      at += auto ? auto[0].length : 1;
    } else if (char === "[" || (char === "!" && text[at + 1] === "[")) {
      const image = char === "!";
      put({ type: "text", text: image ? "![" : "[" });
      brackets.push({ at: pieces.length - 1, image, active: true });
      at += image ? 2 : 1;
    } else if (char === "]") {
      flush();
      at = closeBracket(text, at, pieces, brackets);
    } else if (char === "*" || char === "_" || char === "~") {
      const run = runAt(text, at);
      put(delimiterOf(text, at, run));
      at += run;
    } else {
      plain += char;
      at++;
    }
  }
  flush();
  return emphasis(pieces);
}

function runAt(text: string, at: number): number {
  let end = at;
  while (text[end] === text[at]) end++;
  return end - at;
}

function codeEnd(text: string, from: number, length: number): number {
  for (let at = text.indexOf("`", from); at >= 0; ) {
    const run = runAt(text, at);
    if (run === length) return at;
    at = text.indexOf("`", at + run);
  }
  return -1;
}

function codeText(text: string): string {
  const line = text.replace(/\n/g, " ");
  return line.trim() && line.startsWith(" ") && line.endsWith(" ") ? line.slice(1, -1) : line;
}

const SPACE = /\s/;
const MARK = /[\p{P}\p{S}]/u;

function delimiterOf(text: string, at: number, length: number): Delimiter {
  const char = text[at]!;
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? " ";
  const after = String.fromCodePoint(text.codePointAt(at + length) ?? 32);
  const left = !SPACE.test(after) && (!MARK.test(after) || SPACE.test(before) || MARK.test(before));
  const right = !SPACE.test(before) && (!MARK.test(before) || SPACE.test(after) || MARK.test(after));
  const strict = char === "_";
  const pair = char !== "~" || length === 2;
  return {
    type: "run",
    char,
    length,
    opens: pair && left && (!strict || !right || MARK.test(before)),
    closes: pair && right && (!strict || !left || MARK.test(after)),
  };
}

/** At a `]`: makes a link or an image of what stands behind its opening bracket, if an address follows. */
function closeBracket(text: string, at: number, pieces: Piece[], brackets: Bracket[]): number {
  const bracket = brackets.pop();
  const target = bracket?.active ? targetAt(text, at + 1) : null;
  if (!bracket || !target) {
    pieces.push({ type: "text", text: "]" });
    return at + 1;
  }
  const children = emphasis(pieces.splice(bracket.at).slice(1));
  pieces.push({ type: bracket.image ? "image" : "link", href: target.href, children });
  // a link holds no link: brackets that opened before this one are only text
  if (!bracket.image) brackets.forEach((outer) => (outer.active &&= outer.image));
  return target.end;
}

/** `(address "title")`. */
function targetAt(text: string, at: number): { href: string; end: number } | null {
  if (text[at] !== "(") return null;
  const rest = text.slice(at + 1, at + 4200);
  const lead = /^[ \t]*\n?[ \t]*/.exec(rest)![0].length;
  const angled = /^<((?:[^<>\n\\]|\\[^\n])*)>/.exec(rest.slice(lead));
  const length = angled ? angled[0].length : addressLength(rest.slice(lead));
  if (length < 0) return null;
  const tail = /^(?:(?:[ \t]+\n?|\n)[ \t]*(?:"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|\((?:[^()\\]|\\[^])*\)))?[ \t]*\n?[ \t]*\)/.exec(rest.slice(lead + length));
  if (!tail || /\n[ \t]*\n/.test(tail[0])) return null;
  const href = angled ? angled[1]! : rest.slice(lead, lead + length);
  return { href: unescape(href), end: at + 1 + lead + length + tail[0].length };
}

function addressLength(text: string): number {
  let depth = 0;
  let at = 0;
  for (; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\" && ESCAPABLE.test(text[at + 1] ?? "")) at++;
    else if (char <= " " || char === "\u007f") break;
    else if (char === "<" && at === 0) return -1;
    else if (char === "(" && ++depth > 32) return -1;
    else if (char === ")" && --depth < 0) break;
  }
  return depth > 0 ? -1 : at;
}

/** Pairs runs of * and _ and ~ (CommonMark's algorithm, with its bound on how far a closer looks back). */
function emphasis(pieces: Piece[]): Inline[] {
  const floor = new Map<string, number>();
  for (let close = 0; close < pieces.length; close++) {
    const closer = pieces[close]!;
    if (closer.type !== "run" || !closer.closes || !closer.length) continue;
    const key = `${closer.char}${closer.opens}${closer.length % 3}`;
    const bottom = floor.get(key) ?? -1;
    let open = close - 1;
    while (open > bottom && !pairs(pieces[open]!, closer)) open--;
    if (open <= bottom) {
      floor.set(key, close - 1);
      continue;
    }
    const opener = pieces[open] as Delimiter;
    const strong = opener.length > 1 && closer.length > 1;
    const used = strong ? 2 : 1;
    const children = settle(pieces.slice(open + 1, close));
    opener.length -= used;
    closer.length -= used;
    const type = closer.char === "~" ? "del" : strong ? "strong" : "em";
    pieces.splice(open + 1, close - open - 1, { type, children });
    close = open + 1;
    for (const [name, limit] of floor) if (limit > open) floor.set(name, open);
  }
  return settle(pieces);
}

function pairs(piece: Piece, closer: Delimiter): boolean {
  if (piece.type !== "run" || piece.char !== closer.char || !piece.opens || !piece.length) return false;
  if (piece.char === "~") return piece.length === 2 && closer.length === 2;
  const both = piece.closes || closer.opens;
  return !(both && (piece.length + closer.length) % 3 === 0 && (piece.length % 3 !== 0 || closer.length % 3 !== 0));
}

/** What no partner was found for is text; neighbouring texts become one. */
function settle(pieces: Piece[]): Inline[] {
  const done: Inline[] = [];
  for (const piece of pieces) {
    const inline: Inline = piece.type === "run" ? { type: "text", text: piece.char.repeat(piece.length) } : piece;
    const last = done.at(-1);
    if (inline.type === "text" && last?.type === "text") done[done.length - 1] = { type: "text", text: last.text + inline.text };
    else if (inline.type !== "text" || inline.text) done.push(inline);
  }
  return done;
}
