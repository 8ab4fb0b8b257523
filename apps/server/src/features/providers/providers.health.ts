import type { Kernel } from '../../kernel/kernel.ts';
import type { Choice } from './providers.file.ts';

/** Of so many streams of one model by one route, so many that were cut leave it alone for a while. */
const watched = 10;
const mostCut = 3;
const cutMs = 60_000;

/** How far a failure reaches, and for how long. */
interface Fault {
  coolMs: number;
  /** All of the lane is out of order, not what was asked of one model by one route. */
  isOfLane: boolean;
}

/** The lanes and models that this process leaves alone for now, and how their answers ended. */
export class LaneHealth {
  readonly #clock: Kernel['clock'];
  readonly #count: (of: Record<string, string>) => void;
  /** Until when something is left alone, of `clock.monotonic()`: a lane by its id, else a model of it by a route. */
  readonly #cooling = new Map<string, number>();
  /** How the last streams ended: true for one that was cut. */
  readonly #ends = new Map<string, boolean[]>();

  constructor({ clock, metrics }: Pick<Kernel, 'clock' | 'metrics'>) {
    this.#clock = clock;
    const labels = ['lane', 'model', 'outcome'];
    this.#count = metrics.counter('svc_lane_answers_total', 'Answers of lanes, by how they ended', labels);
  }

  /** Whether it is left alone: the lane, or this model of it by this route. */
  isCooling(choice: Choice, route: string): boolean {
    const now = this.#clock.monotonic();
    return [choice.lane.id, placeOf(choice, route)].some((place) => (this.#cooling.get(place) ?? 0) > now);
  }

  /** It did not answer. */
  failed(choice: Choice, route: string, { coolMs, isOfLane }: Fault): void {
    this.#tell(choice, 'failed');
    this.#cool(isOfLane ? choice.lane.id : placeOf(choice, route), coolMs);
  }

  /** It answered. */
  answered(choice: Choice, route: string): void {
    this.#tell(choice, 'whole');
    this.#cooling.delete(choice.lane.id);
    this.#cooling.delete(placeOf(choice, route));
    this.#ended(placeOf(choice, route), false);
  }

  /** It began an answer and broke off, with its client still there. */
  cut(choice: Choice, route: string): void {
    this.#tell(choice, 'cut');
    const place = placeOf(choice, route);
    if (this.#ended(place, true) < mostCut) return;
    this.#ends.delete(place);
    this.#cool(place, cutMs);
  }

  #ended(place: string, isCut: boolean): number {
    const ends = [...(this.#ends.get(place) ?? []), isCut].slice(-watched);
    this.#ends.set(place, ends);
    return ends.filter(Boolean).length;
  }

  #cool(place: string, ms: number): void {
    this.#cooling.set(place, this.#clock.monotonic() + ms);
  }

  #tell({ lane, model }: Choice, outcome: string): void {
    this.#count({ lane: lane.id, model, outcome });
  }
}

/** Lanes and models are those of the providers file, routes are ours: these are few. */
const placeOf = ({ lane, model }: Choice, route: string): string => JSON.stringify([lane.id, model, route]);
