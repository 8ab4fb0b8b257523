// The main content of pages: precision and recall of its words, beside Readability alone and defuddle.
import { scoreExtraction } from './lib/extraction.ts';
import { bench } from './lib/report.ts';

await bench('extraction', {}, () => scoreExtraction());
