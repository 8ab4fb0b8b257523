/** English texts of notifications. */
export const enAlerts = {
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
