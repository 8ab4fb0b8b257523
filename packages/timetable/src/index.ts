export type { QuietHours, SkipDays, TimedTrigger } from './types.ts';
