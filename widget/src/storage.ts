// What is kept between pages: guarded, because storage may be blocked, full, or throw on mere access.

export interface Remembered {
  id: string;
  title: string;
  at: number;
}

export interface Kept {
  token?: string;
  conversation?: string;
  open?: boolean;
  conversations?: Remembered[];
  at?: number;
}

const DAY = 24 * 3600 * 1000;
const MOST_CONVERSATIONS = 20;

export class Storage {
  /** False once a write has failed: visitors are told that nothing will be kept. */
  works = true;
  private memory: string | null = null;
  private readonly store: globalThis.Storage | undefined;

  constructor(private readonly key: string) {
    try {
      this.store = window.localStorage;
      this.store.setItem(key + ":probe", "1");
      this.store.removeItem(key + ":probe");
    } catch {
      this.works = false;
    }
  }

  read(): Kept {
    let text = this.memory;
    try {
      text = this.memory ?? this.store?.getItem(this.key) ?? null;
    } catch {
      this.works = false;
    }
    try {
      const kept: unknown = JSON.parse(text ?? "{}");
      if (!kept || typeof kept !== "object" || Array.isArray(kept)) return {};
      const { at } = kept as Kept;
      return typeof at === "number" && at > Date.now() - DAY ? (kept as Kept) : {};
    } catch {
      return {};
    }
  }

  write(change: Kept): void {
    const kept: Kept = { ...this.read(), ...change, at: Date.now() };
    kept.conversations = kept.conversations?.slice(0, MOST_CONVERSATIONS);
    const text = JSON.stringify(kept);
    try {
      if (!this.store) throw new Error("storage is blocked");
      this.store.setItem(this.key, text);
      this.memory = null;
    } catch {
      this.works = false;
      this.memory = text;
    }
  }

  clear(): void {
    this.memory = null;
    try {
      this.store?.removeItem(this.key);
    } catch {
      this.works = false;
    }
  }
}

/** Takes away what is kept under a slot and under the names that were added to it. */
export function clearSlots(slot: string): void {
  try {
    for (const key of Object.keys(localStorage)) if (key === slot || key.startsWith(`${slot}:`)) localStorage.removeItem(key);
  } catch {
    // where storage is blocked there is nothing
  }
}
