import { type Scope, scopeNames } from './scopes.ts';

/**
 * What a credential can reach beyond the records of an account. `terminal`: a machine of the person, as its user. `sandbox`: a
 * machine that the platform made, alone. `agent`: agents and approved commands on machines, as far as these allow. `people`: it
 * lets somebody in. `keys`: it makes credentials. `serve`: it is a machine, and gets what is meant for one. `operator`: other
 * accounts. `money`: it costs.
 */
export const reaches = ['terminal', 'sandbox', 'agent', 'people', 'keys', 'serve', 'operator', 'money'] as const;
export type Reach = (typeof reaches)[number];

/** How much is known of an app, least first: nothing, a document at its address, the operator's word, this product's own. */
export const appTrusts = ['unknown', 'document', 'registered', 'first-party'] as const;
export type AppTrust = (typeof appTrusts)[number];

interface Strength {
  reach: readonly Reach[];
  /** The least that is known of an app that may have it; `none`: no app may. If unset: `unknown`. */
  apps?: AppTrust | 'none';
}

const serves = { reach: ['serve'], apps: 'none' } as const satisfies Strength;
const costs = { reach: ['money'] } as const satisfies Strength;

/**
 * The one table of strength: what each scope reaches. A scope that is not here reaches nothing. From it come which keys and
 * apps want a fresh proof of who gives them, what is ticked on the consent page, what apps may have, and what audit says.
 */
const strengths: Partial<Record<Scope, Strength>> = {
  '*': { reach: reaches, apps: 'none' },
  keys: { reach: ['keys'], apps: 'first-party' },
  accounts: { reach: ['operator', 'people'], apps: 'first-party' },
  'accounts:read': { reach: [], apps: 'registered' },
  // It invites machines too.
  hosts: { reach: ['terminal', 'keys'], apps: 'registered' },
  'hosts:exec': { reach: ['terminal'], apps: 'registered' },
  // Commands and what they wrote.
  'hosts:read': { reach: [], apps: 'registered' },
  'hosts:serve': serves,
  'scheduler:serve': serves,
  'sessions:serve': serves,
  'environments:serve': serves,
  'environments:terminal': { reach: ['terminal'], apps: 'registered' },
  environments: { reach: ['people'] },
  // Webhooks send all that the account is told to an address of somebody's.
  notifications: { reach: ['people'] },
  // Links that anybody may open; hearing, insights and search cost.
  transcripts: { reach: ['people', 'money'] },
  sandboxes: { reach: ['sandbox'] },
  schedules: { reach: ['agent'] },
  scheduler: { reach: ['agent'] },
  sessions: { reach: ['agent'] },
  prompts: { reach: ['agent'] },
  chat: costs,
  messages: costs,
  responses: costs,
  embeddings: costs,
  audio: costs,
  realtime: costs,
  tokens: costs,
};

const strengthOf = (scope: string): Strength =>
  Object.hasOwn(strengths, scope) ? (strengths[scope as Scope] as Strength) : { reach: [] };

/** What scopes reach together. */
export const reachOf = (scopes: readonly string[]): Reach[] => {
  const reached = new Set(scopes.flatMap((scope) => strengthOf(scope).reach));
  return reaches.filter((one) => reached.has(one));
};

/** Whether a scope reaches something: who gives it away proves anew who they are. */
export const isStrong = (scope: string): boolean => strengthOf(scope).reach.length > 0;

/** What a person gives to an app of somebody else by a tick of their own only. */
const givenByHand: ReadonlySet<Reach> = new Set(['terminal', 'people', 'keys', 'operator']);

/**
 * Whether the consent page has a scope ticked beforehand for an app. `byCode`: a device asks, and nobody can tell who
 * began that, so nothing strong is, not even for our own programs.
 */
export const isTicked = (scope: string, trust: AppTrust, byCode = false): boolean =>
  !(byCode && isStrong(scope)) &&
  (trust === 'first-party' || !strengthOf(scope).reach.some((one) => givenByHand.has(one)));

/** Scopes that an app may ask for, by how much is known of it. */
export const scopesOfApps = (trust: AppTrust): Scope[] =>
  scopeNames.filter((scope) => {
    const { apps = 'unknown' } = strengthOf(scope);
    return apps !== 'none' && appTrusts.indexOf(trust) >= appTrusts.indexOf(apps);
  });

/** A proof of who somebody is counts so long where something is given away that lasts (seconds). */
export const freshSeconds = 600;
/** And so long where it is used by who proved it (seconds). */
export const freshSecondsOfUse = 43_200;

/** For a route that gives away what lasts beyond it: what that reaches, and so how fresh a proof it wants of a signed-in person. */
export const gives = <const R extends readonly [Reach, ...Reach[]]>(...reach: R) => ({
  gives: reach,
  freshWithin: freshSeconds,
});
