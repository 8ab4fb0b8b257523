// A flood of e2e/attacks in a process of its own, until it is told to end: what it takes must not delay who measures.
import { floods, type Flood } from '../../e2e/attacks/floods.ts';

const { name, url, keys, emails, slow } = JSON.parse(process.argv[2] ?? '{}') as {
  name: Flood;
  url: string;
  keys: { owner: string; thief: string; careless: string };
  emails: { owner: string; thief: string; careless: string };
  slow: string;
};
const stop = new AbortController();
process.once('SIGTERM', () => {
  stop.abort();
  setTimeout(() => process.exit(0), 2_000).unref();
});
process.stdout.write('begun\n');
// The platform may end every connection of a flood; who attacks stays, and tries nothing else.
setInterval(() => {}, 60_000);
await floods[name](
  { url, keys, emails, slow: { url: slow, answer: () => {}, asked: () => 0, told: () => 0 } },
  stop.signal,
);
process.exit(0);
