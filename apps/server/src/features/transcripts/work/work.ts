import { toDocx, toPdf, toSharePage, type SharedDocument, type TranscriptDocument } from '@svc/documents';
import { extractInsights, type Insights, readInsights, type Recording } from '@svc/insights';
import { assemble, type Assembled } from '@svc/speech';

type Assembling = Parameters<typeof assemble>[0];

/** Work that would hold the event loop for up to some seconds with three hours of speech. */
export type TranscriptWork =
  | { readonly kind: 'assemble'; readonly recording: Assembling }
  | { readonly kind: 'extract'; readonly recording: Recording }
  | { readonly kind: 'read'; readonly answer: string; readonly recording: Recording }
  | { readonly kind: 'pdf' | 'docx'; readonly document: TranscriptDocument }
  | { readonly kind: 'page'; readonly document: SharedDocument };

/** The result of each kind of work. */
export interface WorkResults {
  readonly assemble: Assembled;
  readonly extract: Insights;
  readonly read: ReturnType<typeof readInsights>;
  readonly pdf: Uint8Array;
  readonly docx: Uint8Array;
  readonly page: string;
}

/** Does the work; runs in a worker, which is ended when it takes too long or too much memory. */
export async function doWork(work: TranscriptWork): Promise<WorkResults[keyof WorkResults]> {
  if (work.kind === 'assemble') return assemble(work.recording);
  if (work.kind === 'extract') return extractInsights(work.recording);
  if (work.kind === 'read') return readInsights(work.answer, work.recording);
  if (work.kind === 'page') return toSharePage(work.document);
  return work.kind === 'pdf' ? toPdf(work.document) : toDocx(work.document);
}
