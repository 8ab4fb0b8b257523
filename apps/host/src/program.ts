// The programs as one file (`/install/host.mjs`): what older versions of Node.js lack, then the one that the first word names. Without
// such a word it is the host daemon, as units and invitations start it.
import './older-node.ts';

const signIn = () => import('./login.ts');
const programs: Readonly<Record<string, () => Promise<unknown>>> = {
  env: () => import('./env.ts'),
  host: () => import('./main.ts'),
  login: signIn,
  logout: signIn,
  prompt: () => import('./prompt.ts'),
  session: () => import('./session.ts'),
  whoami: signIn,
};
const named = programs[process.argv[2] ?? ''];
// One program has three words, and reads which of them it was.
if (named && named !== signIn) process.argv.splice(2, 1);
await (named ?? (() => import('./main.ts')))();
