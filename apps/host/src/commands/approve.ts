import { join } from 'node:path';
import { type contract, type RouteOutput, shellSpec } from '@svc/contract';
import { type Client, createClient, SvcError } from '@svc/sdk';
import { createApprover } from '../approval.ts';
import { type CommonOptions, loadConfig } from '../config.ts';
import { CommandError } from '../failure.ts';
import { devicePlatform } from '../ops/info.ts';
import { createOutput, type Output } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { type Approvals, hashCommand, openApprovals, type ShellSpec } from '../runs/approvals.ts';
import { ensureStateDirectory, loadDevice } from '../state.ts';

/** Options of `svc host approve`. */
export interface ApproveOptions extends CommonOptions {
  yes?: boolean;
  list?: boolean;
  revoke?: boolean;
}

type Schedule = RouteOutput<typeof contract.schedules.get>;

/** A shell schedule with its command as this machine reads it. */
interface Candidate {
  schedule: Schedule;
  spec: ShellSpec;
  hash: string;
}

interface ApproveContext {
  client: Client;
  approvals: Approvals;
  output: Output;
  deviceId: string;
  options: ApproveOptions;
}

/** `svc host approve`: shows commands of schedules and notes, here first, that this machine may run them. */
export async function approve(named: string | undefined, options: ApproveOptions): Promise<void> {
  const config = loadConfig(options);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  await ensureStateDirectory(config.stateDir);
  const { id, name } = await loadDevice(config.stateDir);
  const device = { id, ...(name && { name }), platform: devicePlatform };
  const client = createClient({ baseUrl: config.url, apiKey: config.key, device });
  const approvals = openApprovals(join(config.stateDir, 'approvals.json'));
  const context: ApproveContext = { client, approvals, output, deviceId: id, options };
  if (options.revoke) return revoke(named, context);
  const candidates = await listCandidates(client);
  if (options.list) return list(candidates, context);
  if (named !== undefined) return decide(find(candidates, named), context);
  if (options.yes) throw new CommandError('--yes needs the schedule: svc host approve --yes <schedule>');
  let open = 0;
  for (const candidate of candidates) {
    if (!asksHere(candidate, id) || (await isApproved(candidate, approvals))) continue;
    open += 1;
    await decide(candidate, context);
  }
  if (open === 0) output.log('no schedule asks for an approval on this host');
}

async function listCandidates(client: Client): Promise<Candidate[]> {
  const { schedules } = await client.schedules.list().catch((error) => {
    throw new CommandError(describeWithTrace(error));
  });
  return schedules.flatMap((schedule) => {
    const spec = shellSpec.safeParse(schedule.spec);
    return schedule.kind === 'shell' && spec.success
      ? [{ schedule, spec: spec.data, hash: hashCommand(spec.data) }]
      : [];
  });
}

/** The schedule that `named` names: its id, else its exact name. */
function find<T extends { schedule: { id: string; name: string } }>(candidates: readonly T[], named: string): T {
  const byId = candidates.find(({ schedule }) => schedule.id === named.toLowerCase());
  const byName = candidates.filter(({ schedule }) => schedule.name === named);
  const [only, ...others] = byId ? [byId] : byName;
  if (!only) throw new CommandError(`no shell schedule is called "${named}": see svc host approve --list`);
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
    const state = approved ? (known ? 'approved' : 'approved here only') : 'asks';
    rows.push({ schedule_id: schedule.id, name: schedule.name, command_hash: hash, state });
  }
  if (options.json) return output.json({ approvals: rows });
  if (rows.length === 0) return output.log('no schedule asks for an approval on this host');
  for (const { schedule_id, name, state } of rows) output.line(`${schedule_id}  ${state}  ${name}`);
}

/** Shows a command, asks, and notes the answer: here before there, so that no run comes that is refused here. */
async function decide(candidate: Candidate, { client, approvals, output, options }: ApproveContext): Promise<void> {
  const { schedule, hash } = candidate;
  if (schedule.command_hash !== hash) {
    throw new CommandError(
      `${schedule.name}: the gateway's hash is not that of the command it shows; nothing is approved`,
    );
  }
  if (!options.json) show(candidate, output);
  if (!options.yes && !(await confirm(schedule.name))) return output.log('not approved');
  const before = (await approvals.list()).find(({ schedule_id }) => schedule_id === schedule.id);
  const approved_at = new Date().toISOString();
  await approvals.add({ schedule_id: schedule.id, name: schedule.name, command_hash: hash, approved_at });
  try {
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
function show({ schedule, spec }: Candidate, output: Output): void {
  output.line(`schedule  ${schedule.name} (${schedule.id})`);
  output.line(`shell     ${spec.shell ?? 'sh'}`);
  output.line(`cwd       ${spec.cwd ?? '(first root of the policy)'}`);
  output.line(`env       ${spec.env_names?.join(', ') || '(none)'}`);
  const [first = '', ...more] = spec.command.split('\n');
  output.line(`command   ${first}`);
  for (const line of more) output.line(`        | ${line}`);
}

async function confirm(name: string): Promise<boolean> {
  const approver = createApprover();
  if (!approver.available()) throw new CommandError('there is no terminal to ask on: give --yes');
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
  const { schedule } = find(known ? own : await listCandidates(client), named);
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
