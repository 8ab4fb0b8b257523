import { serveWork } from '../../../kernel/share/workers.worker.ts';
import { doWork } from './work.ts';

serveWork(doWork, (error) => (error instanceof Error ? error.name : 'unknown'));
