/** English texts of notifications. */
export const enAlerts = {
  monitors: {
    down: (name: string) => `${name} is down`,
    up: (name: string) => `${name} is up again`,
    /** Why; spans are such as "1 h 30 min". */
    reasons: {
      failed: () => 'The job failed.',
      exit: (code: string) => `The job ended with exit code ${code}.`,
      unfinished: (grace: string) => `It started and did not finish within ${grace}.`,
      overdue: (grace: string, period: string) => `No success within ${period} and ${grace} of grace.`,
      missed: (grace: string, at: string) => `No success by ${at} and within ${grace} of grace.`,
      silenced: () => 'It was silenced, and is still down.',
      succeeded: () => 'The job succeeded.',
    },
  },
  runs: {
    approval: (name: string) => `${name} awaits approval`,
    approvalText: 'Approve or skip this run; it is skipped by itself after 24 hours.',
    late: (name: string) => `${name} was not started`,
    failed: (name: string) => `${name} failed`,
    timedOut: (name: string) => `${name} timed out`,
    failedText: 'The run failed.',
    succeeded: (name: string) => `${name} succeeded`,
    changed: (name: string) => `${name}: the output changed`,
    recovered: (name: string) => `${name} succeeds again`,
    off: (name: string) => `${name} was switched off`,
    offText: (failures: string) => `${failures} runs failed in a row. Mend the cause, then enable the schedule again.`,
  },
  /** How what a notification tells of ended. */
  resolutions: {
    approved: 'It was approved.',
    skipped: 'It was skipped.',
    cancelled: 'It was cancelled.',
    expired: 'Its time is over.',
    started: 'It was started.',
    done: 'It is done.',
    recovered: 'It works again.',
    resumed: 'It was switched on again.',
    paused: 'It was paused.',
    postponed: 'It was put off.',
    accepted: 'You accepted it.',
    declined: 'You declined it.',
    dismissed: 'It was dismissed.',
    removed: 'It is no longer there.',
  },
};
