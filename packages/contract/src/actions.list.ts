/** What a button of a notification or of the overview may do. */
export const actionIds = ['approve', 'skip', 'cancel', 'rerun', 'pause', 'resume', 'read', 'archive', 'open'] as const;
