import { keepHere, keptHere } from '../api/device.ts';
/** Light, dark, or as the system says. */
export type Theme = 'system' | 'light' | 'dark';
const name = 'svc-theme';

/** The theme of this device. */
export function themeHere(): Theme {
  const kept = keptHere(name);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** Shows a theme, and remembers it on this device. */
export function applyTheme(theme: Theme): void {
  keepHere(name, theme);
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
