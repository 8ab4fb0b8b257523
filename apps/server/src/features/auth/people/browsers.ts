const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const platforms: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPod)\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** A browser as a person recognises it, such as `Firefox on Linux`, from what it says of itself. */
export function nameOfBrowser(userAgent = ''): { name: string; platform: string } {
  const find = (of: typeof browsers) => of.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, platform] = [find(browsers) ?? 'Browser', find(platforms) ?? ''];
  return { name: platform === '' ? browser : `${browser} on ${platform}`, platform };
}
