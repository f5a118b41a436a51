/** Colours of the console: those of the operating system, or those that the user chose. */
export type Theme = 'system' | 'light' | 'dark';

const SETTING = 'tidings.console.theme';

/** Returns the chosen theme. */
export function currentTheme(): Theme {
  const stored = localStorage.getItem(SETTING);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Applies a theme, by default the stored one, and stores it. */
export function applyTheme(theme: Theme = currentTheme()): void {
  localStorage.setItem(SETTING, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
