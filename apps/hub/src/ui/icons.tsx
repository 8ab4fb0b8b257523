/** Drawings of 24 by 24, as strokes. */
const paths = {
  now: 'M3 12h4l3-8 4 16 3-8h4',
  alerts: 'M6 9a6 6 0 0 1 12 0c0 6 2 7 2 7H4s2-1 2-7M10 20a2 2 0 0 0 4 0',
  monitors: 'M20.8 7.6a5 5 0 0 0-8.8-2 5 5 0 0 0-8.8 2c-.8 5 8.8 11.4 8.8 11.4s9.6-6.4 8.8-11.4zM4 12h4l2-3 3 6 2-3h5',
  schedules: 'M7 3v4M17 3v4M4 9h16M5 5h14a1 1 0 0 1 1 1v13a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1zM12 12v3l2 1',
  machines: 'M4 5h16v10H4zM9 20h6M12 15v5',
  sandboxes: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5',
  prompts: 'M5 5h14v11H9l-4 4zM9 9h6M9 12h4',
  sessions: 'M4 6h16v12H4zM7 10l3 2-3 2M12 15h4',
  transcripts: 'M12 4a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V7a3 3 0 0 0-3-3zM6 11a6 6 0 0 0 12 0M12 17v4',
  environments: 'M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4',
  keys: 'M15 9a4 4 0 1 1-3.5 5.9L9 17H7v2H4v-3l6-6A4 4 0 0 1 15 9zM16.5 11.5v.1',
  connections: 'M9 7H6a4 4 0 0 0 0 10h3M15 7h3a4 4 0 0 1 0 10h-3M8 12h8',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 3.5-6 8-6s8 2 8 6',
  system: 'M4 5h16v5H4zM4 14h16v5H4zM7 7.5v.1M7 16.5v.1',
  more: 'M5 12v.1M12 12v.1M19 12v.1',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20',
  add: 'M12 5v14M5 12h14',
  check: 'M5 12.5l4.5 4.5L19 7',
  warn: 'M12 4l9 16H3zM12 10v4M12 17v.1',
  down: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 9l6 6M15 9l-6 6',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5M12 8v.1',
  copy: 'M9 9h10v11H9zM15 9V4H5v11h4',
  close: 'M6 6l12 12M18 6L6 18',
  pause: 'M9 5v14M15 5v14',
  play: 'M8 5l11 7-11 7z',
  terminal: 'M4 5h16v14H4z M8 10l3 2.5L8 15 M13 15h4',
  clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2',
  chevron: 'M9 6l6 6-6 6',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  bookmark: 'M7 4h10v16l-5-4-5 4z',
  upload: 'M12 16V5M7 10l5-5 5 5M5 20h14',
  back: 'M11 6l-6 6 6 6M19 6l-6 6 6 6',
  ahead: 'M5 6l6 6-6 6M13 6l6 6-6 6',
  away: 'M4 4l16 16M9 5h11v10M15 15H4V5M9 20h6',
} as const;
export type IconName = keyof typeof paths;

/** A drawing beside a word; it says nothing by itself. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
);
