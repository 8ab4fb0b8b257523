import { Pool, requestText } from './client.ts';
import type { Platform } from './platform.ts';

/** Calls to a platform with the owner's key, some in flight at once. */
export function caller(platform: Platform) {
  const pool = new Pool(platform.port);
  const headers = { authorization: `Bearer ${platform.key}` };
  return {
    call: async (method: string, path: string, body?: unknown, device?: string): Promise<unknown> => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const own = device === undefined ? headers : { ...headers, 'x-svc-device': device };
      const answer = await pool.exchange(requestText(method, path, own, text));
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.slice(0, 300)}`);
      return answer.body === '' ? undefined : JSON.parse(answer.body);
    },
    close: () => pool.close(),
  };
}

/** Creates `count` schedules with a trigger, 16 at a time. */
export async function createSchedules(platform: Platform, count: number, trigger: unknown): Promise<void> {
  const { call, close } = caller(platform);
  let left = count;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left-- > 0) {
        const spec = { prompt: 'nothing' };
        await call('POST', '/v1/schedules', { name: `bench ${left}`, kind: 'agent', spec, trigger, late_after_s: 0 });
      }
    }),
  );
  close();
}
