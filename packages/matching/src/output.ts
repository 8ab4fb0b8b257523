/**
 * A line of output with what differs from run to run blanked: timestamps, UUIDs, hexadecimal ids, durations. Outputs whose
 * lines normalise alike are no change (document 2, `notify`).
 */
export const normalizeLine = (line: string): string =>
  line
    .replaceAll(/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?\b/g, '<time>')
    .replaceAll(/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b/g, '<time>')
    .replaceAll(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>')
    .replaceAll(/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi, '<id>')
    .replaceAll(/\b\d+(?:[.,]\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds|min|m|h)\b/g, '<duration>')
    .replaceAll(/\b1[5-9]\d{8}(?:\d{3})?\b/g, '<time>')
    .trimEnd();
