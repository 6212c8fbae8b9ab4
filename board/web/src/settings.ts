// Settings of the page that outlast a game.

export type Theme = 'auto' | 'light' | 'dark';

export interface Settings {
  theme: Theme;
  lines: number;
  arrows: boolean;
  heat: boolean;
}

const KEY = 'menagerie.settings';
const DEFAULTS: Settings = { theme: 'auto', lines: 2, arrows: true, heat: false };

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
  try {
    const text = localStorage.getItem(key);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}

/** Writes a value to localStorage. A full or forbidden storage is ignored. */
export function writeJson(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The game goes on without being stored.
  }
}
