import type { z } from 'zod';
import type { artifact, execResult, sandbox } from '../sandboxes.shapes.ts';
import { samples } from './samples.ts';

/** A sandbox of the examples. */
export const running: z.output<typeof sandbox> = {
  id: samples.sandbox,
  object: 'sandbox',
  status: 'running',
  backend: 'v2',
  restored: true,
  template: 'svc-base',
  egress: { mode: 'none' },
  created_at: '2026-11-02T09:00:00.000Z',
  expires_at: '2026-11-02T10:00:00.000Z',
  last_exec_at: null,
  metadata: { task: 'report' },
  usage: { exec_count: 0, exec_seconds: 0 },
  cost_micro_eur: 0,
};

const textHash = 'd102c3774da12577fd4cc13b90fbbeb4dbb96ab4640e240a8e963bc9d7a380e5';

/** A command of the examples, and its outcome. */
export const executed: z.output<typeof execResult> = {
  exit_code: 0,
  stdout: 'hello, sandbox\n',
  stderr: '',
  truncated: [],
  timed_out: false,
  duration_ms: 24,
  receipt: {
    image_digest: '9156d4a6725ec74c8be5157ba74ab220eafa7f9e188cafb286170f277fb78b0c',
    template: 'svc-base',
    input_sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    command_sha256: 'cce8f596466303f932645c6b475c428d56ddccddf607d5060b3a143602e83f58',
    outputs: [{ path: 'out/hello.txt', sha256: textHash, bytes: 15 }],
    generation_before: 3,
    generation_after: 4,
  },
};

/** The file that the command leaves. */
export const file: z.output<typeof artifact> = {
  id: samples.artifact,
  path: 'out/hello.txt',
  bytes: 15,
  mime: 'text/plain',
  sha256: textHash,
  scan: 'clean',
  url: `https://svc.example.com/v1/artifacts/${samples.artifact}?expires=${samples.expires}&signature=${samples.signature}`,
  expires_at: '2026-11-02T11:00:00.000Z',
};
