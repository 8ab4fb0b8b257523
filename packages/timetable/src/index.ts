export { cronError, cronHint } from './cron.ts';
export { inQuietHours, isSkippedDay, quietUntil } from './days.ts';
export { type Holiday, romanianHolidays } from './holidays.ts';
export { hasClockChange, type LostSlotOptions, missedSlots, type SlotOptions, slotsAfter } from './slots.ts';
export type { QuietHours, SkipDays, TimedTrigger } from './types.ts';
export { defaultZone, isZone } from './zone.ts';
export { readWords, understand } from './words.ts';
