import { join } from 'node:path';
import type { contract, RouteOutput } from '@svc/contract';
import { type Client, SvcError } from '@svc/sdk';
import { createApprover } from '../approval.ts';
import { type CommonOptions, loadConfig } from '../config.ts';
import { CommandError } from '../failure.ts';
import { clientOf } from '../gateway.ts';
import { createOutput, type Output } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { hasPolicy, openPolicy } from '../policy.ts';
import { type AgentSpec, type Approvals, openApprovals, type ShellSpec } from '../runs/approvals.ts';
import { asksFor } from '../runs/index.ts';
import { listSchedules } from '../schedules.ts';
import { ensureStateDirectory, loadDevice } from '../state.ts';

/** Options of `svc host approve`. */
export interface ApproveOptions extends CommonOptions {
  policy?: string;
  yes?: boolean;
  list?: boolean;
  revoke?: boolean;
}

type Schedule = RouteOutput<typeof contract.schedules.get>;

/** A schedule with the command or prompt that this machine asks about, as it reads it. */
type Candidate = { schedule: Schedule; hash: string } & (
  | { what: 'command'; spec: ShellSpec }
  | { what: 'prompt'; spec: AgentSpec }
);

interface ApproveContext {
  client: Client;
  approvals: Approvals;
  output: Output;
  deviceId: string;
  options: ApproveOptions;
}

/** `svc host approve`: shows commands and prompts of schedules and notes, here first, that this machine may run them. */
export async function approve(named: string | undefined, options: ApproveOptions): Promise<void> {
  const config = loadConfig(options);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  // A person who runs a command here from afar must not approve with it what runs later.
  if (options.yes) throw new CommandError('--yes is no more: approvals are given at a terminal of this machine');
  await ensureStateDirectory(config.stateDir);
  const { id, name } = await loadDevice(config.stateDir);
  const device = { id, ...(name && { name }) };
  const client = clientOf(config, { retries: 0, device });
  const approvals = openApprovals(join(config.stateDir, 'approvals.json'));
  const context: ApproveContext = { client, approvals, output, deviceId: id, options };
  if (options.revoke) return revoke(named, context);
  const policyPath = options.policy ?? join(config.stateDir, 'host.json');
  const agentAsks = await asksAboutPrompts(policyPath, config.home);
  const candidates = await listCandidates(client, agentAsks);
  if (options.list) return list(candidates, context);
  if (named !== undefined) return decide(find(candidates, named), context);
  let open = 0;
  for (const candidate of candidates) {
    if (!asksHere(candidate, id) || (await isApproved(candidate, approvals))) continue;
    open += 1;
    await decide(candidate, context);
  }
  if (open === 0) output.log('no schedule asks for an approval on this host');
}

/** Whether this machine has an agent whose prompts are approved. */
async function asksAboutPrompts(path: string, home: string): Promise<boolean> {
  if (!(await hasPolicy(path))) return false;
  const policy = await openPolicy({ path, home, onFault: () => {} });
  return (await policy.current()).agent?.ask === true;
}

async function listCandidates(client: Client, agentAsks: boolean): Promise<Candidate[]> {
  const { schedules } = await listSchedules(client).catch((error) => {
    throw new CommandError(describeWithTrace(error));
  });
  return schedules.flatMap((schedule) => {
    const asks = asksFor(schedule.kind, schedule.spec, agentAsks);
    return asks ? [{ schedule, ...asks }] : [];
  });
}

/** The schedule that `named` names: its id, else its exact name. */
function find<T extends { schedule: { id: string; name: string } }>(candidates: readonly T[], named: string): T {
  const byId = candidates.find(({ schedule }) => schedule.id === named.toLowerCase());
  const byName = candidates.filter(({ schedule }) => schedule.name === named);
  const [only, ...others] = byId ? [byId] : byName;
  if (!only)
    throw new CommandError(`no schedule that needs an approval is called "${named}": see svc host approve --list`);
  if (others.length === 0) return only;
  const ids = byName.map(({ schedule }) => schedule.id).join(', ');
  throw new CommandError(`"${named}" names ${byName.length} schedules, give one of their ids: ${ids}`);
}

/** Runs of it may come to this machine. */
function asksHere({ schedule: { target, enabled } }: Candidate, deviceId: string): boolean {
  if (!enabled || target.type === 'cloud' || target.type === 'cloud_vm') return false;
  return target.type !== 'host' || target.device_id === deviceId;
}

async function isApproved({ schedule, hash }: Candidate, approvals: Approvals): Promise<boolean> {
  return approvals.isApproved(schedule.id, hash);
}

async function list(candidates: readonly Candidate[], context: ApproveContext): Promise<void> {
  const { approvals, output, deviceId, options } = context;
  const rows = [];
  for (const candidate of candidates) {
    const { schedule, hash } = candidate;
    const approved = await isApproved(candidate, approvals);
    const known = schedule.approvals?.some((one) => one.device_id === deviceId && one.command_hash === hash) ?? false;
    if (!approved && !known && !asksHere(candidate, deviceId)) continue;
    // Of the two only the machine's own word counts, but without the gateway's it is offered no run.
    const everywhere = known || candidate.what === 'prompt';
    const state = approved ? (everywhere ? 'approved' : 'approved here only') : 'asks';
    rows.push({ schedule_id: schedule.id, name: schedule.name, command_hash: hash, state });
  }
  if (options.json) return output.json({ approvals: rows });
  if (rows.length === 0) return output.log('no schedule asks for an approval on this host');
  for (const { schedule_id, name, state } of rows) output.line(`${schedule_id}  ${state}  ${name}`);
}

/** Shows a command, asks, and notes the answer: here before there, so that no run comes that is refused here. */
async function decide(candidate: Candidate, { client, approvals, output, options }: ApproveContext): Promise<void> {
  const { schedule, hash } = candidate;
  if (candidate.what === 'command' && schedule.command_hash !== hash) {
    throw new CommandError(
      `${schedule.name}: the gateway's hash is not that of the command it shows; nothing is approved`,
    );
  }
  show(candidate, options.json ? output.log : output.line);
  if (!(await confirm(schedule.name))) return output.log('not approved');
  const before = (await approvals.list()).find(({ schedule_id }) => schedule_id === schedule.id);
  const approved_at = new Date().toISOString();
  await approvals.add({ schedule_id: schedule.id, name: schedule.name, command_hash: hash, approved_at });
  try {
    // The gateway knows of no prompts: what counts is this machine's word in any case.
    if (candidate.what === 'command')
      await client.schedules.approveCommand({ params: { id: schedule.id }, body: { command_hash: hash } });
  } catch (error) {
    await (before ? approvals.add(before) : approvals.remove(schedule.id));
    if (error instanceof SvcError && error.code === 'hash_mismatch') {
      throw new CommandError(
        `${schedule.name}: the command was changed after it was shown; nothing is approved, look again`,
      );
    }
    throw new CommandError(`${schedule.name}: not approved: ${describeWithTrace(error)}`);
  }
  if (options.json) output.json({ approved: true, schedule_id: schedule.id, command_hash: hash });
  else output.line(`approved ${hash}`);
}

/** Everything that the hash stands for, a line of the command on a line of its own. */
function show(candidate: Candidate, line: (text: string) => void): void {
  const { schedule, what, spec } = candidate;
  line(`schedule  ${schedule.name} (${schedule.id})`);
  if (what === 'command') {
    line(`shell     ${spec.shell ?? 'sh'}`);
    line(`cwd       ${spec.cwd ?? '(first root of the policy)'}`);
    line(`env       ${spec.env_names?.join(', ') || '(none)'}`);
  } else {
    line(`skill     ${spec.skill ?? '(none)'}`);
    line(`may       ${[spec.permissions ?? []].flat().join(', ') || '(not said)'}`);
  }
  const [first = '', ...more] = (what === 'command' ? spec.command : spec.prompt).split('\n');
  line(`${what.padEnd(10)}${first}`);
  for (const next of more) line(`        | ${next}`);
}

async function confirm(name: string): Promise<boolean> {
  const approver = createApprover();
  if (!approver.available()) {
    throw new CommandError('there is no terminal to ask on: approvals are given at a terminal of this machine');
  }
  return (await approver.ask(`may this host run it for "${name}"?`, new AbortController().signal)) === 'yes';
}

/** Takes an approval back: here first, so that it holds even when the gateway is out of reach. */
async function revoke(
  named: string | undefined,
  { client, approvals, output, options }: ApproveContext,
): Promise<void> {
  if (named === undefined) throw new CommandError('--revoke needs the schedule: its id or name');
  const own = (await approvals.list()).map((approval) => ({
    schedule: { id: approval.schedule_id, name: approval.name },
  }));
  const known = own.some(({ schedule }) => schedule.id === named.toLowerCase() || schedule.name === named);
  const { schedule } = find(known ? own : await listCandidates(client, false), named);
  await approvals.remove(schedule.id);
  try {
    await client.schedules.revokeCommand({ params: { id: schedule.id } });
  } catch (error) {
    // A schedule that is gone asks for nothing.
    if (!(error instanceof SvcError && error.status === 404)) {
      throw new CommandError(`withdrawn on this host, but not at the gateway: ${describeWithTrace(error)}`);
    }
  }
  if (options.json) output.json({ approved: false, schedule_id: schedule.id });
  else output.line(`withdrawn: this host no longer runs "${schedule.name}"`);
}
