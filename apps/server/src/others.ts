/**
 * Tables in which a request of one account writes, changes or deletes rows of another one, and what bounds each: an account pays
 * for what it causes. `examples.test.ts` sends every example beside an account that does nothing itself, and compares. What an
 * operator does to accounts (`accounts.*`) is an operator's right.
 */
export const rowsOfOthers: Readonly<Record<string, string>> = {
  'environments.environments':
    'no row comes: one that both own is changed, by a role that its owner gave, or becomes theirs who agreed to own it',
  'environments.invitations':
    '20 a minute of an account, one of each environment to a person, 100 that wait for a person; 30 days',
  'environments.members':
    'a role is changed or taken, which its person accepted; of colleagues, and of who owns a project for what a guest makes in it, 20 a minute',
  'environments.removed':
    'one of each environment for who was a member of it and was taken out; 1,000 of an environment',
  'kernel.audit':
    'one line for each change of what both own, as many as an account may send requests; they retire by months',
  'kernel.budgets': 'one row a budget and account, for two days',
  'kernel.changes':
    'the budget `rowsInOthers` of who causes them; past it one waits for each environment, and what a guest makes in a project, 20 a minute, is told besides. 200,000 are kept, 7 days',
  'notifications.deliveries': 'as notifications; of those that wait for a target these are dropped first',
  'notifications.notifications':
    'one a day of each inviter, 20 a day in all (`invitationsTold`), as many of who takes them out (`removalsTold`); 90 days',
};
