const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Whether an address leads to this machine alone. */
export const isLoopback = (url: string): boolean => loopback.includes(new URL(url).hostname);

/**
 * The spellings of an address of ours: on this machine alone, `localhost`, `127.0.0.1` and `[::1]` are one place, and
 * passkeys work on the first only. The one of the setting comes first.
 */
export function alike(url: string): string[] {
  const { hostname } = new URL(url);
  if (!loopback.includes(hostname)) return [url];
  return [url, ...loopback.filter((name) => name !== hostname).map((name) => url.replace(hostname, name))];
}
