import { getPriority } from 'node:os';
import { serveWork } from './workers.worker.ts';

/** Work of the test's worker; as a program this file is that worker. */
export interface TestWork {
  readonly kind: 'echo' | 'throw' | 'spin' | 'exit' | 'grow' | 'environment' | 'priority';
  readonly text: string;
}

if (process.send)
  serveWork(
    async ({ kind, text }: TestWork) => {
      if (kind === 'throw') throw new RangeError('thrown');
      if (kind === 'exit') process.exit(3);
      if (kind === 'environment') return Object.keys(process.env).join(' ');
      if (kind === 'priority') return String(getPriority());
      if (kind === 'spin') for (;;);
      const kept: Buffer[] = [];
      if (kind === 'grow') for (;;) kept.push(Buffer.alloc(8 * 1024 * 1024, 1));
      return text;
    },
    (error) => (error instanceof Error ? error.name : 'unknown'),
  );
