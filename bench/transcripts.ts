// Transcripts: exports of three hours beside bare pdfkit, search in 100,000 utterances and what its plans read, what the processing
// of an hour adds to the provider's time, what stitching adds to its errors, and /health and memory while all of it runs.
import { bench, type Findings } from './lib/report.ts';
import { fillThreeHours, measureExports } from './transcripts/exports.ts';
import { measureLoad } from './transcripts/load.ts';
import { measurePipeline } from './transcripts/pipeline.ts';
import { measureSearch } from './transcripts/search.ts';
import { measureStitching } from './transcripts/stitching.ts';
import { openStudio } from './transcripts/studio.ts';

const flags = { rounds: 5, utterances: 100_000, searches: 200, minutes: 60 };

await bench('transcripts', flags, async ({ rounds, utterances, searches, minutes }, say) => {
  await using studio = await openStudio();
  say('stitching of 50 scripted recordings');
  const found: Findings[] = [measureStitching()];
  say(`${minutes} min of tones, with a provider that answers at once`);
  found.push(await measurePipeline(studio, minutes));
  say(`exports of 3 h, ${rounds} times each`);
  const id = await fillThreeHours(studio);
  found.push(await measureExports(studio, id, rounds));
  say(`4 recordings of ${minutes} min at once, and PDFs`);
  found.push(await measureLoad(studio, { id, minutes }));
  found.push(await measureSearch(studio, { utterances, searches }, say));
  return {
    rows: found.flatMap((one) => one.rows),
    targets: found.flatMap((one) => one.targets),
  };
});
