// Markdown as the server reads it: CommonMark with tables and strikethrough, without raw HTML, reference links, indented
// code and underlined headings. A general parser alone would be 15 of the 36 KB that the widget may weigh; micromark is the
// oracle in the tests instead, and every link that is seen here must be one for it too.

export type Inline =
  | { type: "text" | "code"; text: string }
  | { type: "break" }
  | { type: "em" | "strong" | "del"; children: Inline[] }
  | { type: "link" | "image"; href: string; children: Inline[] };

export type Block = { raw: string } & (
  | { type: "paragraph"; text: string }
  | { type: "heading"; level: number; text: string }
  | { type: "code"; text: string }
  | { type: "rule" }
  | { type: "quote"; children: Block[] }
  | { type: "list"; start: number | null; loose: boolean; items: Block[][] }
  | { type: "table"; align: string[]; head: string[]; rows: string[][] }
);

// --- blocks ---

const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+|$)(.*)$/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
/** Deeper nesting stays text: a thousand quote signs must not exhaust the stack. */
const DEEPEST = 12;

const blank = (line: string | undefined): boolean => line === undefined || !line.trim();

function fenceAt(line: string): RegExpExecArray | null {
  const match = FENCE.exec(line);
  return match && !(match[2]![0] === "`" && match[3]!.includes("`")) ? match : null;
}

/** Whether a line ends the paragraph above it. */
function interrupts(line: string): boolean {
  if (fenceAt(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
  const item = ITEM.exec(line);
  return item !== null && item[4]!.trim() !== "" && (!/\d/.test(item[2]!) || /^1[.)]/.test(item[2]!));
}

export function parseBlocks(text: string, depth = 0): Block[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n").map((line) => line.replace(/^[ \t]+/, (space) => space.replace(/\t/g, "    ")));
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (blank(lines[at])) {
      at++;
      continue;
    }
    const [block, next] = blockAt(lines, at, depth);
    blocks.push(Object.assign(block, { raw: lines.slice(at, next).join("\n") }) as Block);
    at = next;
  }
  return blocks;
}

type Bare = Block extends infer B ? (B extends Block ? Omit<B, "raw"> : never) : never;

function blockAt(lines: string[], at: number, depth: number): [Bare, number] {
  const line = lines[at]!;
  const fence = fenceAt(line);
  if (fence) return fenced(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) return [{ type: "heading", level: heading[1]!.length, text: heading[2] ?? "" }, at + 1];
  if (RULE.test(line)) return [{ type: "rule" }, at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) return quoted(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, depth);
  return table(lines, at) ?? paragraph(lines, at);
}

function fenced(lines: string[], at: number, [, indent, mark]: RegExpExecArray): [Bare, number] {
  const closing = new RegExp(`^ {0,3}\\${mark![0]}{${mark!.length},}[ \\t]*$`);
  const strip = new RegExp(`^ {0,${indent!.length}}`);
  const content: string[] = [];
  let next = at + 1;
  while (next < lines.length && !closing.test(lines[next]!)) content.push(lines[next++]!.replace(strip, ""));
  return [{ type: "code", text: content.join("\n") }, Math.min(next + 1, lines.length)];
}

/** Whether the text so far ends in a paragraph that the next line may continue without a mark. */
function openParagraph(inner: string[]): boolean {
  const last = inner.at(-1);
  return last !== undefined && !blank(last) && !fenceAt(last) && !HEADING.test(last) && !RULE.test(last);
}

function quoted(lines: string[], at: number, depth: number): [Bare, number] {
  const inner: string[] = [];
  let next = at;
  for (; next < lines.length && !blank(lines[next]); next++) {
    const line = lines[next]!;
    if (QUOTE.test(line)) inner.push(line.replace(QUOTE, ""));
    else if (openParagraph(inner) && !interrupts(line)) inner.push(line);
    else break;
  }
  return [{ type: "quote", children: parseBlocks(inner.join("\n"), depth + 1) }, next];
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

function list(lines: string[], at: number, depth: number): [Bare, number] {
  const first = ITEM.exec(lines[at]!)!;
  const kind = first[2]!.at(-1);
  const items: Block[][] = [];
  let loose = false;
  let next = at;
  while (next < lines.length) {
    const match = ITEM.exec(lines[next]!);
    if (!match || match[2]!.at(-1) !== kind || RULE.test(lines[next]!)) break;
    const [inner, end, gap] = item(lines, next, match);
    const children = parseBlocks(inner.join("\n"), depth + 1);
    if (gap && children.length > 1) loose = true;
    items.push(children);
    next = end;
    while (next < lines.length && blank(lines[next])) next++;
    const again = next < lines.length ? ITEM.exec(lines[next]!) : null;
    const goesOn = again && again[2]!.at(-1) === kind && !RULE.test(lines[next]!);
    if (!goesOn) next = end;
    else if (next > end) loose = true;
  }
  const start = /\d/.test(first[2]!) ? parseInt(first[2]!, 10) : null;
  return [{ type: "list", start, loose, items }, next];
}

/** An item's own lines, the line behind it, and whether a blank line stands between its blocks. */
function item(lines: string[], at: number, [, indent, mark, space, rest]: RegExpExecArray): [string[], number, boolean] {
  const width = indent!.length + mark!.length + (rest && space!.length < 5 ? space!.length : 1);
  const inner = [rest && space!.length > 4 ? space!.slice(1) + rest : rest!];
  let next = at + 1;
  let gap = false;
  let fence: string | null = fenceAt(inner[0]!)?.[2] ?? null;
  while (next < lines.length) {
    const line = lines[next]!;
    if (blank(line)) {
      let after = next;
      while (after < lines.length && blank(lines[after])) after++;
      if (after === lines.length || indentOf(lines[after]!) < width || (!rest && next === at + 1)) break;
      gap ||= fence === null;
      inner.push(...Array<string>(after - next).fill(""));
      next = after;
      continue;
    }
    if (indentOf(line) >= width) inner.push(line.slice(width));
    else if (fence === null && openParagraph(inner) && !interrupts(line) && !ITEM.test(line)) inner.push(line.trimStart());
    else break;
    const mark = fenceAt(inner.at(-1)!);
    if (fence === null) fence = mark?.[2] ?? null;
    else if (mark && mark[2]![0] === fence[0] && mark[2]!.length >= fence.length && blank(mark[3])) fence = null;
    next++;
  }
  return [inner, next, gap];
}

/** A row's cells; a pipe behind a backslash belongs to its cell. */
function cells(line: string): string[] {
  const parts = line.trim().replace(/^\|/, "").split(/(?<!\\)\|/);
  if (parts.length > 1 && !parts.at(-1)!.trim()) parts.pop();
  return parts.map((part) => part.trim().replace(/\\\|/g, "|"));
}

function table(lines: string[], at: number): [Bare, number] | null {
  const delimiters = lines[at + 1];
  if (!lines[at]!.includes("|") || delimiters === undefined || !DELIMITERS.test(delimiters)) return null;
  const head = cells(lines[at]!);
  const marks = cells(delimiters);
  if (head.length !== marks.length) return null;
  const align = marks.map((mark) => (/^:.*:$/.test(mark) ? "center" : mark.endsWith(":") ? "right" : mark.startsWith(":") ? "left" : ""));
  const rows: string[][] = [];
  let next = at + 2;
  for (; next < lines.length && !blank(lines[next]) && !interrupts(lines[next]!); next++) {
    const row = cells(lines[next]!);
    rows.push(head.map((_, column) => row[column] ?? ""));
  }
  return [{ type: "table", align, head, rows }, next];
}

function paragraph(lines: string[], at: number): [Bare, number] {
  let next = at + 1;
  while (next < lines.length && !blank(lines[next]) && !interrupts(lines[next]!) && !table(lines, next)) next++;
  const text = lines.slice(at, next).map((line) => line.trimStart()).join("\n");
  return [{ type: "paragraph", text: text.trimEnd() }, next];
}

// --- inline ---

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
