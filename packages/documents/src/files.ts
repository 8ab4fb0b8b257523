// Apart from the texts: the libraries of these take a third of a second of processor time to load.
export { toDocx } from './docx.ts';
export { toPdf } from './pdf.ts';
