import { randomUUID } from 'node:crypto';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { CloudFailure } from './clouds.driver.ts';
import { lookAt, type MachineParts } from './clouds.look.ts';
import { giveBack, insertMissing, takeDue } from './clouds.sql.ts';

const lookEveryMs = 2_000;
/** Machines that a process looks at at once, and those of one account over all processes. */
const mostAtOnce = 16;
const mostOfAccount = 2;
/** A look is four calls of 30 s at most. */
const leaseSeconds = 150;
/** After a look that broke. */
const brokenMs = 60_000;

type Parts = MachineParts & Pick<Kernel, 'background'>;

/**
 * Brings machines to where the states of their environments want them. The rows are the truth: what a process that died had begun,
 * another one takes when its lease ends, and reads at the provider how far it came.
 */
export class Machines {
  readonly #parts: Parts;
  readonly #looks = new Set<Promise<void>>();
  #loop: Loop | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  start(): void {
    this.#loop = startLoop(this.#parts, { name: 'clouds.machines', everyMs: lookEveryMs, work: () => this.#take() });
  }

  /** Lets looks under way end. */
  async stop(): Promise<void> {
    await this.#loop?.stop();
    await Promise.all(this.#looks);
  }

  /** Begins a look at each machine that is due; none waits for another one's provider. */
  async #take(): Promise<void> {
    const { background, clock, clouds } = this.#parts;
    if (clouds.all.length === 0) return;
    await insertMissing(background, clock);
    const most = mostAtOnce - this.#looks.size;
    if (most <= 0) return;
    const lease = randomUUID();
    const ids = await takeDue(background, clock, { lease, seconds: leaseSeconds, most, mostEach: mostOfAccount });
    for (const id of ids) {
      const look = this.#look(id, lease).finally(() => {
        this.#looks.delete(look);
        // The next step, or another machine of its account, may have waited for it.
        this.#loop?.wake();
      });
      this.#looks.add(look);
    }
  }

  async #look(id: string, lease: string): Promise<void> {
    const { background, clock, log } = this.#parts;
    let inMs = brokenMs;
    try {
      inMs = await lookAt(this.#parts, { id, lease });
    } catch (err) {
      const known = err instanceof CloudFailure;
      log.error({ err, environment: id }, known ? 'a provider of machines failed' : 'a machine was not looked at');
    }
    await giveBack(background, clock, { id, lease, inMs }).catch((err: unknown) =>
      log.warn({ err, environment: id }, 'a machine was not given back; its lease ends it'),
    );
  }
}
