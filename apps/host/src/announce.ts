import { userName } from './self.ts';
import type { Output } from './output.ts';
import type { Policy } from './policy.ts';
import { kindsOf } from './runs/claims.ts';

/** Says at start what the policy allows, and what that comes to. */
export function announce(output: Output, json: boolean, policy: Policy, policyPath: string): void {
  const reach = reachOf(policy);
  if (json) {
    output.json({ event: 'starting', policy: policyPath, ops: policy.decisions, roots: policy.roots, reach });
    return;
  }
  const decisions = Object.entries(policy.decisions).map(([op, decision]) => `${op} ${decision}`);
  output.line(`policy ${policyPath}: ${decisions.join(', ')} (shell is not confined to the roots)`);
  for (const line of reach) output.line(line);
}

/** Actions that a key of the account can run on this machine, a line for each scope. */
function reachOf(policy: Policy): string[] {
  const { decisions, roots, agent, terminal, ports } = policy;
  const kinds = kindsOf(policy);
  const below = `below ${roots.join(', ')}`;
  const commands = {
    allow: `run any command as ${userName()}`,
    ask: 'run what you say y to, here',
    refuse: '',
  };
  const operations = [
    commands[decisions.shell],
    decisions.read_file === 'allow' && `read files ${below}`,
    decisions.write_file === 'allow' && `write files ${below}`,
  ];
  const sent = agent?.ask ? 'give its agent a prompt that you say y to, here' : 'give its agent any prompt';
  const prompts = agent?.ask ? 'give its agent prompts that were approved here' : 'give its agent any prompt';
  const runs = [
    kinds.includes('shell') && 'run commands that were approved here (svc host approve)',
    kinds.includes('agent') && prompts,
    kinds.includes('http') && 'send requests into its network',
  ];
  const environments = [
    { allow: `open a terminal as ${userName()}`, ask: 'open a terminal when you say y, here', refuse: '' }[terminal],
    { published: 'reach its published ports', loopback: 'reach all its ports', refuse: '' }[ports],
  ];
  const line = (scopes: string, all: (string | false)[]) =>
    `a key with the scope ${scopes} can make this machine: ${all.filter(Boolean).join('; ') || 'do nothing of note'}`;
  return [
    line('hosts or hosts:exec', operations),
    line('schedules', runs),
    line('sessions or prompts', [kinds.includes('agent') && sent]),
    `developers of the environments that it serves can: ${environments.filter(Boolean).join('; ') || 'do nothing here'}`,
  ];
}
