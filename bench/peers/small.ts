// A thread that asks for something small over and over while it is told to: what the thread of the bench has to do
// meanwhile is not measured with it. They share three numbers: whether to ask, the slowest answer in milliseconds, and
// rounds that are over.
import { workerData } from 'node:worker_threads';

const { url, key, shared } = workerData as { url: string; key: string; shared: Int32Array };

for (;;) {
  Atomics.wait(shared, 0, 0);
  while (Atomics.load(shared, 0) === 1) {
    const began = performance.now();
    await (await fetch(`${url}/v1/devices`, { headers: { authorization: `Bearer ${key}` } })).arrayBuffer();
    shared[1] = Math.max(shared[1] ?? 0, Math.round(performance.now() - began));
  }
  Atomics.add(shared, 2, 1);
  Atomics.notify(shared, 2);
}
