import { serveWork } from '../../../kernel/share/workers.worker.ts';
import { Sherpa, SetupError } from './sherpa.work.ts';

const sherpa = new Sherpa();
serveWork(
  (work) => sherpa.hear(work),
  (error) => (error instanceof SetupError ? 'setup' : 'failed'),
);
