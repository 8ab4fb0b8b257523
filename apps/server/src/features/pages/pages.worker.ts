import { ExtractionError } from '@svc/extraction';
import { serveWork } from '../../kernel/share/workers.worker.ts';
import { doWork } from './pages.work.ts';

serveWork(doWork, (error) => (error instanceof ExtractionError ? error.kind : 'unreadable'));
