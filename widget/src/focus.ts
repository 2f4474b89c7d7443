// Keeps the focus in the panel when what had it goes away: a button that its own click replaces, a list that closes.
// A browser would give the focus to the page, and whoever works by keyboard or listens would have to find the way back.

const FOCUSABLE = 'a[href],button:not([disabled]),textarea,[tabindex="0"]';

const focusables = (panel: Element): HTMLElement[] =>
  [...panel.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((element) => !element.closest("[inert]"));

/** The focus goes to what now stands where the lost element stood, else to what opened the cover that it stood on,
 * else to `otherwise`. */
export function keepFocus(root: ShadowRoot, panel: HTMLElement, otherwise: () => HTMLElement | null): void {
  let focused: Element | null = null;
  let opener: Element | null = null;
  let before: HTMLElement[] = [];
  panel.addEventListener("focusin", (event) => {
    const target = event.target as Element;
    if (!target.closest(".cover")) opener = null;
    else if (!focused?.closest(".cover")) opener = focused;
    focused = target;
    const all = focusables(panel);
    before = all.slice(0, Math.max(0, all.indexOf(focused as HTMLElement)));
  });
  panel.addEventListener("focusout", () => {
    const left = focused;
    // an element that is being removed may say the same: only later it can be told apart from one that was left
    setTimeout(() => {
      if (left === focused && left?.isConnected && root.activeElement !== left) focused = null;
    });
  });
  new MutationObserver(() => {
    if (!focused || focused.isConnected || root.activeElement || document.activeElement !== document.body) return;
    focused = null;
    const all = focusables(panel);
    const last = before.filter((element) => element.isConnected).at(-1);
    const there = (last && all[all.indexOf(last) + 1]) ?? all.find((element) => element === opener) ?? otherwise();
    // a finger that pressed a button did not ask for a keyboard over half of the screen
    const quiet = there instanceof HTMLTextAreaElement && matchMedia("(pointer:coarse)").matches;
    (quiet ? panel.querySelector<HTMLElement>(".log") : there)?.focus({ preventScroll: true });
  }).observe(panel, { childList: true, subtree: true });
}
