// The hub in a browser, as a phone sees it: how soon pages are of use, long lists and logs, a change to its pixels, a page under a
// busy stream; what event streams cost the gateway, and whether the build of the pages delays its start. There is no peer: the
// figures asked for are those of the design. A flag of 0 leaves its part out.
import { fill } from './hub/fill.ts';
import { measureFirst } from './hub/first.ts';
import { measureLog, measureMonitors, measureTurns } from './hub/lists.ts';
import { measureBusy, measureChanges } from './hub/live.ts';
import { measureStarts } from './hub/start.ts';
import { openVisit } from './hub/visit.ts';
import { requestText } from './lib/client.ts';
import { atMost, bench, type Findings, type Row, type Target } from './lib/report.ts';
import { measureStreams } from './lib/streams.ts';

const flags = {
  rounds: 5,
  monitors: 10_000,
  lines: 100_000,
  turns: 1_500,
  changes: 100,
  minutes: 2,
  streams: 2_000,
  settle: 10,
  starts: 3,
};

await bench('hub in a browser', flags, async (options, say) => {
  const { rounds, monitors, lines, turns, changes, minutes, streams, settle, starts } = options;
  const rows: Row[] = [];
  const targets: Target[] = [];
  const part = async (size: number, what: string, work: () => Promise<Findings>): Promise<void> => {
    if (size === 0) return;
    say(what);
    const found = await work();
    rows.push(...found.rows);
    targets.push(...found.targets);
  };
  await part(starts, `${starts} starts with the hub built, and as many without`, () => measureStarts(starts));
  await using visit = await openVisit();
  const { port, pid, key } = visit.platform;
  await part(streams, `${streams} event streams`, async () => {
    const request = () => requestText('GET', '/v1/events/stream', { authorization: `Bearer ${key}` });
    const { each, failed, before } = await measureStreams({ port, pid, request }, streams, settle);
    const besides = `${each.toFixed(1)} kB each over ${Math.round(before / 1_024)} MiB; ${failed} failed`;
    return {
      rows: [{ what: `${streams} event streams`, besides }],
      targets: [atMost('kB an event stream', each, 40), atMost('event streams that were refused', failed, 0)],
    };
  });
  // Before there is so much that Now shows the worst of it alone.
  await part(changes, `${changes} changes in ten tabs`, () => measureChanges(visit, changes));
  await fill(visit.sql, { monitors, schedules: 200, runs: 1_000 });
  await part(rounds, `first useful paints, ${rounds} rounds`, () => measureFirst(visit, rounds));
  await part(monitors, `${monitors} monitors`, () => measureMonitors(visit, monitors));
  await part(lines, `a log of ${lines} lines`, () => measureLog(visit, lines));
  await part(turns, `a meeting of ${turns} turns`, () => measureTurns(visit, turns));
  await part(minutes, `${minutes} minutes of changes`, () => measureBusy(visit, minutes));
  return { rows, targets };
});
