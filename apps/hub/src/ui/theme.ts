/** Light, dark, or as the system says. */
export type Theme = 'system' | 'light' | 'dark';
const name = 'svc-theme';

/** The theme of this device. */
export function themeHere(): Theme {
  const kept = localStorage.getItem(name);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** Shows a theme, and remembers it on this device. */
export function applyTheme(theme: Theme): void {
  localStorage.setItem(name, theme);
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
