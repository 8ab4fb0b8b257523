import type { FastifyInstance } from 'fastify';
import { ApiError } from '../base/errors.ts';
import type { Refusals } from './leftover.ts';

/** Differences that a path may have and still be meant. */
const mostDifferences = 3;
const mostNamed = 3;
const longestSegment = 64;

interface Known {
  segments: readonly string[];
  methods: Set<string>;
}

/** Answers requests that no route takes; the routes are those that are added from now on. */
export function refuseUnknown(app: FastifyInstance, refusals: Refusals): void {
  const paths = new KnownPaths(app);
  app.setNotFoundHandler(({ url }, reply) => refusals.send(reply, paths.refusal(url)));
}

/** The paths of a server, to say which one a request without a route may have meant. */
class KnownPaths {
  readonly #paths = new Map<string, Known>();

  /** Learns every route that is added from now on. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method }) => {
      const path = url.replace(/:(\w+)/g, '{$1}');
      const known = this.#paths.get(path) ?? { segments: path.split('/'), methods: new Set() };
      for (const each of [method].flat()) known.methods.add(each);
      this.#paths.set(path, known);
    });
  }

  /** 404 that names what the path takes, or the paths nearest to it; nothing of the request is repeated. */
  refusal(url: string): ApiError {
    const asked = url.split('?', 1)[0] as string;
    // A slash too many is a difference, and so is a version too few.
    const slash = asked.length > 1 && asked.endsWith('/') ? 1 : 0;
    const given = asked.slice(0, asked.length - slash).split('/');
    const found = [given, ['', 'v1', ...given.slice(1)]].flatMap((segments, version) =>
      [...this.#paths].map(([name, known]) => ({
        name,
        known,
        distance: slash + version + distanceOf(segments, known.segments),
      })),
    );
    const least = Math.min(...found.map(({ distance }) => distance));
    if (least > mostDifferences) return new ApiError('not_found', 'no such route; /docs lists all of them');
    const nearest = found.filter(({ distance }) => distance === least).slice(0, mostNamed);
    const named = nearest.map(({ name, known }) => `${[...known.methods].join(', ')} ${name}`).join('; ');
    const [first] = nearest;
    if (least > 0 || !first) return new ApiError('not_found', `no such route; the nearest: ${named}`);
    const headers = { allow: [...new Set(nearest.flatMap(({ known }) => [...known.methods]))].join(', ') };
    return new ApiError('not_found', `no such route; this path takes: ${named}`, { headers });
  }
}

/** How far a path is from a template; a parameter takes any text, and `*` the rest. */
function distanceOf(given: readonly string[], template: readonly string[]): number {
  const takesRest = template.at(-1) === '*';
  if (takesRest ? given.length < template.length : given.length !== template.length) return Infinity;
  let sum = 0;
  for (const [index, part] of template.entries()) {
    if (part === '*') break;
    const segment = given[index] as string;
    if (part.includes('{')) sum += segment === '' ? Infinity : 0;
    else sum += differences(segment, part);
    if (sum > mostDifferences) return Infinity;
  }
  return sum;
}

/** Letters to change, add or drop; too many for a short word are another word. */
function differences(one: string, other: string): number {
  if (one === other) return 0;
  if (one.length > longestSegment || Math.abs(one.length - other.length) > mostDifferences) return Infinity;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(same, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  const changed = row[other.length] as number;
  return changed * 2 > Math.max(one.length, other.length) ? Infinity : changed;
}
