/** Triggers whose slots are known beforehand (document 2, Trigger shapes). */
export type TimedTrigger =
  | { type: 'cron'; expr: string; tz?: string | undefined }
  | { type: 'at'; at: string }
  | { type: 'interval'; every_s: number };

/** Days without slots (document 2, Policy keys), evaluated in the trigger's zone. */
export interface SkipDays {
  holidays?: 'RO' | undefined;
  /** 1..7 from Monday. */
  weekdays?: readonly number[] | undefined;
  /** `YYYY-MM-DD`, or `MM-DD` for every year. */
  dates?: readonly string[] | undefined;
}

/** A daily span of local time; may wrap midnight. `days` (1..7 from Monday) are those on which it begins. */
export interface QuietHours {
  /** `HH:MM`. */
  start: string;
  end: string;
  days?: readonly number[] | undefined;
  tz?: string | undefined;
}
