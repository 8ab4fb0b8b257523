/** What may come of a fault in place of what the request does when nothing is in its way, and why. */
interface Accepted {
  readonly why: string;
  /** Answers to a repeat, as `status code`. */
  readonly answers?: readonly string[];
  /** Tables that a repeat may write to twice. */
  readonly twice?: readonly string[];
  /** Tables in which something may be missing. */
  readonly missing?: readonly string[];
}

const piece: Accepted = {
  why: 'a piece that is there is not taken again; one that was announced and never came is swept (`uploads.sweep`)',
  answers: ['409 upload_conflict'],
  twice: ['uploads.parts'],
};

/** Of single operations, by id. */
export const accepted: Readonly<Record<string, Accepted>> = {
  'hosts.exec': {
    why: 'who leaves takes the operation back, and asks for another one by the repeat: both stand in the log',
    twice: ['kernel.audit'],
  },
  'hosts.redeemInvite': { why: 'a code counts once: its owner invites again', answers: ['403 forbidden'] },
  'notifications.testWebhook': {
    why: 'a test that nobody heard of is sent again: what left the process cannot be taken back',
    twice: ['notifications.webhook_attempts'],
  },
  'heartbeats.ping': { why: 'a ping that comes twice is two', twice: ['heartbeats.pings'] },
  'heartbeats.signal': { why: 'a ping that comes twice is two', twice: ['heartbeats.pings'] },
  'heartbeats.pingSlug': { why: 'a ping that comes twice is two', twice: ['heartbeats.pings'] },
  'heartbeats.signalSlug': { why: 'a ping that comes twice is two', twice: ['heartbeats.pings'] },
  'uploads.remove': {
    why: 'it says 410 for a week, then its row is swept (`uploads.sweep`)',
    answers: ['410 upload_gone'],
    twice: ['uploads.uploads'],
  },
  'uploads.create': {
    why: 'an upload whose answer was lost holds nothing and expires after an hour',
    twice: ['uploads.uploads', 'uploads.parts'],
  },
  'uploads.append': piece,
  'uploads.override': piece,
  'transcripts.finalize': {
    why: 'a step that found the disk full is tried again, and that is told',
    twice: ['kernel.changes'],
  },
  'transcripts.reanalyze': {
    why: 'without a model that makes vectors a recording has none, and is marked as degraded',
    missing: ['transcripts.vectors'],
  },
  'scheduler.claim': {
    why: 'a run that nobody was told of is handed back, or its lease ends: its next attempt is claimed then',
    twice: ['scheduler.attempts:handed_back', 'scheduler.attempts:lost'],
    missing: ['scheduler.runs:running'],
  },
  'responses.create': {
    why: 'its client must have the answer, which costs; it cannot go on from it, and is told so then',
    missing: ['inference.stored'],
  },
  'prompts.verifyAll': { why: 'one that fails is a result like the others', missing: ['kernel.changes'] },
  'me.remove': { why: 'who is deleted is signed out first', answers: ['401 invalid_api_key'] },
  'me.confirmLink': { why: 'a link counts once', answers: ['404 not_found'] },
  'prompts.update': { why: 'a prompt that is closed is closed', answers: ['409 prompt_closed'] },
};

/** Lines and rows about each request that was made: a client that sends one twice without an Idempotency-Key made two. */
export const ofEachRequest: ReadonlySet<string> = new Set([
  'kernel.audit',
  'kernel.changes',
  'environments.events',
  'notifications.notifications',
  // These end by themselves within minutes.
  'environments.tickets',
  'auth.challenges',
]);
