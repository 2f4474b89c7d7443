// Markdown as the server reads it: CommonMark with tables and strikethrough, without raw HTML, reference links, indented
// code and underlined headings. A general parser alone would be 15 of the 36 KB that the widget may weigh; micromark is the
// oracle in the tests instead, and every link that is seen here must be one for it too.

export type Block = { raw: string } & (
  | { type: "paragraph"; text: string }
  | { type: "heading"; level: number; text: string }
  | { type: "code"; text: string }
  | { type: "rule" }
  | { type: "quote"; children: Block[] }
  | { type: "list"; start: number | null; loose: boolean; items: Block[][] }
  | { type: "table"; align: string[]; head: string[]; rows: string[][] }
);

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
