// Settings of the page that outlast a game.

export type Theme = 'auto' | 'light' | 'dark';

export interface Settings {
  theme: Theme;
  lines: number;
  arrows: boolean;
  heat: boolean;
  /** Threads of a search and megabytes of its memory; null for the defaults of the server. */
  threads: number | null;
  hash: number | null;
}

const KEY = 'menagerie.settings';
const DEFAULTS: Settings = { theme: 'auto', lines: 2, arrows: true, heat: false, threads: null, hash: null };

export const settings: Settings = { ...DEFAULTS, ...readJson<Partial<Settings>>(KEY) };

export function saveSettings(): void {
  writeJson(KEY, settings);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = settings.theme;
}

/** Reads a value from localStorage. Returns null if there is none or it is damaged. */
export function readJson<T>(key: string): T | null {
  return read<T>(() => localStorage, key);
}

/** Writes a value to localStorage. A full or forbidden storage is ignored. */
export function writeJson(key: string, value: unknown): void {
  write(() => localStorage, key, value);
}

/** Reads the value of this tab, or that which any tab has written last. */
export function readTabJson<T>(key: string): T | null {
  return read<T>(() => sessionStorage, key) ?? readJson<T>(key);
}

/** Writes a value for this tab, and for tabs that are opened later. */
export function writeTabJson(key: string, value: unknown): void {
  write(() => sessionStorage, key, value);
  writeJson(key, value);
}

// Access to a storage throws if the browser forbids it.
type OpenStorage = () => Storage;

function read<T>(open: OpenStorage, key: string): T | null {
  try {
    const text = open().getItem(key);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}

function write(open: OpenStorage, key: string, value: unknown): void {
  try {
    if (value === null) open().removeItem(key);
    else open().setItem(key, JSON.stringify(value));
  } catch {
    // The game goes on without being stored.
  }
}
