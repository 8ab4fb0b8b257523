/** The text of a /proc/meminfo of a machine with so much memory, all of it free. */
export function meminfoOf(bytes: number): string {
  const fields = {
    MemTotal: bytes,
    MemFree: bytes,
    MemAvailable: bytes,
    Buffers: 0,
    Cached: 0,
    SwapTotal: 0,
    SwapFree: 0,
  };
  return Object.entries(fields)
    .map(([name, value]) => `${`${name}:`.padEnd(16)}${String(Math.floor(value / 1024)).padStart(8)} kB\n`)
    .join('');
}
