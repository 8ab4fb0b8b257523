import { keepHere, keptHere, tellSignIn } from '../api/device.ts';
/** Light, dark, or as the system says. */
export type Theme = 'system' | 'light' | 'dark';
const name = 'svc-theme';

/** The theme of this device. */
export function themeHere(): Theme {
  const kept = keptHere(name);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** Chooses a theme: shows it, remembers it on this device, and tells the sign-in pages. */
export function chooseTheme(theme: Theme): void {
  keepHere(name, theme);
  tellSignIn('svc_theme', theme === 'system' ? '' : theme);
  applyTheme(theme);
}

/** Shows a theme. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
