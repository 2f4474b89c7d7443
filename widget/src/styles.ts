// The style sheets, adopted and never inserted: no page's policy has to allow a style for the widget.
// `all: initial !important` on the host beats every rule of the page, important ones included; custom properties pass.

const LIGHT = `--accent:var(--refdesk-accent,#1f4fd8);--on-accent:var(--refdesk-accent-text,#fff);--bg:var(--refdesk-bg,#fff);
--fg:var(--refdesk-fg,#1d2129);--muted:var(--refdesk-muted,#59606d);--surface:var(--refdesk-surface,#f2f4f8);
--border:var(--refdesk-border,#7f8794);--line:var(--refdesk-border,#dde1e8);--link:var(--refdesk-accent,#1f4fd8);--bad:#b3261e;--mark:#ffe59a;--on-mark:#1d2129`;
const DARK = `--accent:var(--refdesk-accent,#a9c4ff);--on-accent:var(--refdesk-accent-text,#0a2559);--bg:var(--refdesk-bg,#191b20);
--fg:var(--refdesk-fg,#e6e8ee);--muted:var(--refdesk-muted,#adb4c0);--surface:var(--refdesk-surface,#262930);
--border:var(--refdesk-border,#8d95a3);--line:var(--refdesk-border,#3c414b);--link:var(--refdesk-accent,#a9c4ff);--bad:#ffb4ab;--mark:#6b5600;--on-mark:#fff`;

/** Read at once: the host element and the launcher. */
export const LAUNCHER_CSS = `
:host{all:initial!important;color-scheme:light!important;${LIGHT}}
:host([theme=dark]){color-scheme:dark!important;${DARK}}
@media (prefers-color-scheme:dark){:host([theme=auto]){color-scheme:dark!important;${DARK}}}
:host([inline]){display:block!important;height:var(--refdesk-height,560px)!important;min-height:280px!important}
:host([hidden]){display:none!important}
@media print{:host(:not([inline])){display:none!important}}
.launcher{all:unset;box-sizing:border-box;position:fixed;inset-block-end:calc(var(--refdesk-offset-y,20px) + env(safe-area-inset-bottom));
inset-inline-end:var(--refdesk-offset-x,20px);inline-size:56px;block-size:56px;border-radius:50%;background:var(--accent);color:var(--on-accent);
z-index:var(--refdesk-z,2147483000);box-shadow:0 3px 14px #0005;cursor:pointer;display:grid;place-items:center;-webkit-tap-highlight-color:transparent}
:host([position=start]) .launcher{inset-inline:var(--refdesk-offset-x,20px) auto}
.launcher[hidden]{display:none}
.launcher:focus-visible{outline:3px solid var(--fg);outline-offset:3px}
.launcher svg{inline-size:26px;block-size:26px;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.launcher.unread::after{content:"";position:absolute;inset-block-start:2px;inset-inline-end:2px;inline-size:12px;block-size:12px;border-radius:50%;background:#d3261c;border:2px solid var(--bg)}
@media (forced-colors:active){.launcher{border:2px solid ButtonText}}
`;

/** Read with the panel. */
export const PANEL_CSS = `
.panel,.panel *{box-sizing:border-box}
.panel [hidden]{display:none!important}
.panel{font:400 15px/1.5 var(--refdesk-font,system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif);color:var(--fg);background:var(--bg);
flex-direction:column;margin:0;padding:0;border:1px solid var(--line);border-radius:var(--refdesk-radius,14px);overflow:hidden;overscroll-behavior:contain;text-align:start}
dialog.panel{position:fixed;inset:auto;inset-block-end:calc(var(--refdesk-offset-y,20px) + 68px + env(safe-area-inset-bottom));inset-inline-end:var(--refdesk-offset-x,20px);
inline-size:min(var(--refdesk-width,410px),100vw - 40px);block-size:min(660px,100dvh - 112px);max-inline-size:none;max-block-size:none;z-index:var(--refdesk-z,2147483000);box-shadow:0 10px 44px #0004}
:host([position=start]) dialog.panel{inset-inline:var(--refdesk-offset-x,20px) auto}
dialog.panel[open]{display:flex;animation:rise .16s ease-out}
@keyframes rise{from{transform:translateY(8px)}}
dialog.panel::backdrop{background:none}
section.panel{display:flex;block-size:100%;position:relative}
h2,h3,h4,h5,h6,p,ul,ol,dl,dd,figure,blockquote,pre{margin:0}
:where(.panel) button,textarea{font:inherit;color:inherit;letter-spacing:inherit}
:where(.panel) button{border:0;background:none;border-radius:8px;padding:4px 8px;min-inline-size:32px;min-block-size:32px;cursor:pointer}
:where(.panel) button:hover{background:var(--surface)}
:where(.panel) button:disabled{cursor:default;opacity:.6}
:focus-visible{outline:2px solid var(--link);outline-offset:1px}
svg{inline-size:20px;block-size:20px;display:block;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round;margin:auto}
[dir=rtl] .flip,:host([dir=rtl]) .flip{transform:scaleX(-1)}
.unseen{position:absolute!important;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.bar{display:flex;align-items:center;gap:2px;padding:8px 10px;border-block-end:1px solid var(--line);flex:none}
.bar h2{flex:1;min-inline-size:0;font-size:16px;line-height:1.3;font-weight:600;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding-inline:6px}
.bar.article h2{white-space:normal;display:-webkit-box;-webkit-line-clamp:2;-webkit-box-orient:vertical}
.log{flex:1;min-block-size:0;overflow-y:auto;overscroll-behavior:contain;padding:14px;display:flex;flex-direction:column;gap:14px;position:relative}
.log>*{flex:none}
.intro{display:flex;flex-direction:column;gap:10px}
.starters,.topics{list-style:none;padding:0;display:flex;flex-direction:column;gap:6px;align-items:flex-start}
.starters button,.topics a,.plain{border:1px solid var(--border);border-radius:16px;padding:5px 12px;text-align:start;color:inherit;text-decoration:none;display:inline-block;min-block-size:32px}
.topics a:hover{background:var(--surface)}
.asked{align-self:flex-end;max-inline-size:86%;background:var(--accent);color:var(--on-accent);padding:7px 12px;border-radius:14px;font-size:inherit;font-weight:400;white-space:pre-wrap;overflow-wrap:anywhere}
.answer{display:flex;flex-direction:column;gap:10px;overflow-wrap:anywhere;min-inline-size:0}
.steps{color:var(--muted);font-size:14px;list-style:none;padding:0}
.steps li{padding-inline-start:20px;position:relative}
.steps li::before{content:"";position:absolute;inset-inline-start:4px;inset-block-start:7px;inline-size:7px;block-size:7px;border-radius:50%;background:var(--border)}
.steps li:last-child::before{background:var(--link);animation:pulse 1s infinite alternate}
@keyframes pulse{to{opacity:.25}}
.text>*+*,.box>*+*{margin-block-start:.6em}
.text:empty{display:none}
.text ul,.text ol,.small ul{padding-inline-start:1.5em}
.near>*+*{margin-block-start:5px}
.text li+li{margin-block-start:.2em}
.text h3,.text h4,.text h5,.text h6,.box h4{font-size:1em;font-weight:600}
.text h3{font-size:1.1em}
.text hr{border:0;border-block-start:1px solid var(--line)}
a{color:var(--link);text-decoration:underline;text-underline-offset:2px}
code,kbd{direction:ltr;unicode-bidi:isolate;background:var(--surface);border-radius:4px;padding:.1em .3em;font:.9em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--surface);border-radius:8px;padding:10px;direction:ltr;text-align:left}
pre code{background:none;padding:0}
.wide{overflow-x:auto;max-inline-size:100%}
blockquote{border-inline-start:3px solid var(--border);padding-inline-start:10px;color:var(--muted)}
table{border-collapse:collapse;font-size:.94em}
th,td{border:1px solid var(--line);padding:4px 8px;text-align:start;vertical-align:top}
.to-center{text-align:center}.to-right{text-align:end}
.text img{max-inline-size:100%;block-size:auto;border-radius:6px}
mark{background:var(--mark);color:var(--on-mark);border-radius:2px}
.box{border:1px solid var(--line);background:var(--surface);border-radius:10px;padding:10px 12px}
.box blockquote,.tip blockquote{color:inherit;white-space:pre-line}
.small{font-size:13px;color:var(--muted)}
.bad{color:var(--bad)}
.sides{display:grid;grid-template-columns:1fr 1fr;gap:10px}
.sources{font-size:14px;display:flex;flex-wrap:wrap;gap:6px;align-items:center}
.sources ul{display:contents;list-style:none}
.sources li{min-inline-size:0;max-inline-size:100%}
.chip{display:inline-block;border:1px solid var(--border);border-radius:14px;padding:3px 10px;color:var(--fg);text-decoration:none;max-inline-size:100%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;vertical-align:top;min-block-size:28px}
a.chip:hover{background:var(--surface)}
.chip small{font-size:12px;color:var(--muted)}
.actions{display:flex;flex-wrap:wrap;align-items:center;gap:2px;color:var(--muted);font-size:14px}
.actions [aria-pressed=true]{color:var(--link);background:var(--surface)}
.actions svg{inline-size:18px;block-size:18px}
.comment{display:flex;flex-direction:column;gap:6px;font-size:14px}
.row{display:flex;flex-wrap:wrap;gap:8px;align-items:center}
textarea{inline-size:100%;resize:none;border:1px solid var(--border);border-radius:10px;background:var(--bg);padding:8px 10px;font-size:16px;line-height:1.4;min-block-size:40px;max-block-size:132px;field-sizing:content}
.composer{display:flex;gap:8px;align-items:flex-end;padding:10px 12px 6px;border-block-start:1px solid var(--line);flex:none}
.composer button{background:var(--accent);color:var(--on-accent);min-block-size:40px;min-inline-size:40px}
.busy svg{fill:currentColor}
::placeholder{color:var(--muted);opacity:1}
.composer button:hover{background:var(--accent);filter:brightness(1.12)}
.foot{padding:0 14px 8px;flex:none;font-size:12px;color:var(--muted)}
.cover{position:absolute;inset:0;background:var(--bg);display:flex;flex-direction:column;z-index:2}
.page{flex:1;min-block-size:0;overflow:auto;padding:14px;overscroll-behavior:contain;position:relative;overflow-wrap:anywhere}
.page>*+*{margin-block-start:.7em}
.list{list-style:none;padding:0;display:flex;flex-direction:column;gap:4px}
.list li{display:flex;gap:4px;align-items:center;margin:0}
.list .pick{flex:1;min-inline-size:0;text-align:start;display:flex;flex-direction:column;padding:6px 8px}
.list .pick span:first-child{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.tip{position:absolute;z-index:3;max-inline-size:min(340px,100% - 24px);background:var(--bg);color:var(--fg);border:1px solid var(--border);border-radius:10px;padding:8px 11px;box-shadow:0 4px 18px #0003;font-size:13px;line-height:1.45;max-block-size:220px;overflow:auto}
.tip blockquote{margin-block:4px}
.panel .latest{flex:none;align-self:center;margin-block:4px;border:1px solid var(--border);border-radius:16px;font-size:13px}
@media (max-width:640px),(max-height:420px){
dialog.panel,:host([position=start]) dialog.panel{inset:0;inline-size:100vw;block-size:100dvh;border:0;border-radius:0;padding-block-end:env(safe-area-inset-bottom)}
.sides{grid-template-columns:1fr}}
@media (max-height:420px){.foot{display:none}.intro .foot{display:block;padding:0}}
@media (prefers-reduced-motion:reduce){.panel,.panel *,.panel *::before{animation:none!important;transition:none!important;scroll-behavior:auto!important}}
@media (forced-colors:active){.asked,.composer button,.chip,.box,.tip{border:1px solid CanvasText}.actions [aria-pressed=true]{border:1px solid Highlight}mark{background:Mark;color:MarkText}svg{stroke:CanvasText}button svg{stroke:ButtonText}}
`;

export const ICONS = {
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  fold: "M6 9l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  up: "M7 11v9H4v-9zM7 11l4-8c2 0 2.5 2 2 4l-.5 2H19l-1.5 9-2 2H7",
  down: "M17 13V4h3v9zM17 13l-4 8c-2 0-2.5-2-2-4l.5-2H5l1.5-9 2-2H17",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  redo: "M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5",
  plus: "M12 5v14M5 12h14",
  back: "M15 5l-7 7 7 7",
  clock: "M12 7v5l3 2M12 3a9 9 0 1 0 .01 0z",
  bin: "M5 7h14M10 4h4M7 7l1 13h8l1-13",
} as const;
