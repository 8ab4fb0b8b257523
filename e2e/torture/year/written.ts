import type { Timetable } from './timetables.ts';

type Body = Record<string, unknown>;

const daily = (at: string, tz: string, on?: (day: Temporal.PlainDate) => boolean): [Body, Timetable] => {
  const [h, m] = at.split(':').map(Number);
  return [
    { type: 'cron', expr: `${m} ${h} * * *`, tz },
    { kind: 'days', at, tz, ...(on && { on }) },
  ];
};
const onDays = (expr: string, at: string, tz: string, on: (day: Temporal.PlainDate) => boolean): [Body, Timetable] => {
  const [h, m] = at.split(':').map(Number);
  return [
    { type: 'cron', expr: `${m} ${h} ${expr}`, tz },
    { kind: 'days', at, tz, on },
  ];
};
const hourly = (at: number, every: number, tz: string): [Body, Timetable] => [
  { type: 'cron', expr: `${at} ${every === 1 ? '*' : `*/${every}`} * * *`, tz },
  { kind: 'hours', minute: at, tz, on: (one) => one % every === 0 },
];
const every = (seconds: number): [Body, Timetable] => [
  { type: 'interval', every_s: seconds },
  { kind: 'every', seconds },
];

const isWeekday = ({ dayOfWeek }: Temporal.PlainDate): boolean => dayOfWeek <= 5;
const isHoliday = ({ month, day }: Temporal.PlainDate): boolean => month === 12 && day >= 24 && day <= 26;

/** Timetables of the household: the hours of clock changes in four zones, and what people write. */
export const written = (start: number): [name: string, fields: Body, timetable: [Body, Timetable]][] => [
  ['backup', {}, hourly(7, 2, 'Europe/Bucharest')],
  ['news', { overlap: 'kill' }, hourly(30, 6, 'America/New_York')],
  ['feeds', { misfire: 'all_within', misfire_window_min: 1_440 }, hourly(45, 8, 'Australia/Lord_Howe')],
  ['cats', {}, every(5 * 3_600)],
  ['filters', { misfire: 'skip' }, every(36 * 3_600)],
  ['gap east', {}, daily('03:30', 'Europe/Bucharest')],
  ['gap west', {}, daily('02:30', 'America/New_York')],
  ['half an hour', {}, daily('02:15', 'Australia/Lord_Howe')],
  ['twice', {}, daily('01:30', 'Europe/London')],
  ['midnight', {}, daily('00:00', 'America/Santiago')],
  ['noon', { late_after_s: 300 }, daily('12:00', 'UTC')],
  ['work', { policy: { skip_days: { weekdays: ['sat', 'sun'] } } }, daily('08:00', 'Europe/Bucharest', isWeekday)],
  [
    'school',
    { policy: { skip_days: { dates: ['12-24', '12-25', '12-26'] } } },
    daily('07:40', 'Europe/Bucharest', (day) => !isHoliday(day)),
  ],
  ['monday', {}, onDays('* * mon', '09:00', 'Europe/Bucharest', ({ dayOfWeek }) => dayOfWeek === 1)],
  ['friday', {}, onDays('* * 5', '17:00', 'Asia/Kolkata', ({ dayOfWeek }) => dayOfWeek === 5)],
  ['rent', {}, onDays('1 * *', '06:00', 'Europe/Bucharest', ({ day }) => day === 1)],
  ['accounts', {}, onDays('L * *', '23:45', 'Europe/Bucharest', ({ day, daysInMonth }) => day === daysInMonth)],
  ['skipped when late', { misfire: 'skip' }, daily('13:20', 'UTC')],
  ['asked', { policy: { approval: 'always' } }, daily('18:10', 'Europe/Bucharest')],
  [
    'once',
    {},
    [
      { type: 'at', at: new Date(start + 10 * 24 * 3_600_000 + 90_000).toISOString() },
      { kind: 'once', at: start + 10 * 24 * 3_600_000 + 90_000 },
    ],
  ],
];
