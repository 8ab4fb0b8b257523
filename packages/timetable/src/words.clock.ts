import type { Period, Token, Unit } from './words.lexicon.ts';

/** A time of day. */
export interface Time {
  hour: number;
  minute: number;
  /** Said with it: `pm`, `in the evening`. */
  period?: Period;
}

type Is = Token['is'];

/** Tokens one after the other, with spans (`45 minutes`) and times of day (`half past 8`) read as wholes. */
export class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get done(): boolean {
    return this.#at >= this.#tokens.length;
  }

  try<T>(read: () => T | undefined): T | undefined {
    const from = this.#at;
    const value = read();
    if (value === undefined) this.#at = from;
    return value;
  }

  peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  take<K extends Is>(...kinds: K[]): (Token & { is: K }) | undefined {
    const token = this.peek();
    if (!token || !(kinds as Is[]).includes(token.is)) return undefined;
    this.#at += 1;
    return token as Token & { is: K };
  }

  skip(...kinds: Is[]): void {
    while (this.take(...kinds));
  }

  /** A unit; `luni` after a number is months, not Monday, and `second` is the unit as well as the ordinal. */
  unit(afterNumber: boolean): Unit | undefined {
    const token = this.peek();
    const unit =
      token?.is === 'unit'
        ? token.unit
        : afterNumber && token?.is === 'weekday' && token.days.length === 1 && token.days[0] === 1
          ? 'month'
          : token?.is === 'ordinal' && token.value === 2 && !token.isDigits
            ? 'second'
            : token?.is === 'at' && !isNumeric(this.peek(1))
              ? 'hour'
              : undefined;
    if (unit !== undefined) this.#at += 1;
    return unit;
  }

  /** `45 [de] minutes`, `an hour`, `half an hour`. */
  span(needsNumber: boolean): { count: number; unit: Unit } | undefined {
    const part = this.take('part');
    if (part) {
      this.skip('of', 'article');
      return this.unit(true) === 'hour' ? { count: part.minutes, unit: 'minute' } : undefined;
    }
    this.skip('article');
    const number = this.take('number');
    if (!number && needsNumber) return undefined;
    if (number) this.skip('of');
    const unit = this.unit(number !== undefined);
    return unit && { count: number?.value ?? 1, unit };
  }

  /** A time of day with what belongs to it: `8:15`, `half past 8`, `8 fără un sfert`, `8 și jumătate`, `7 seara`. */
  clock(parts = true): Time | undefined {
    const named = this.take('clock');
    if (named) return { hour: named.hour, minute: 0 };
    const before = parts ? this.try(() => this.#partPast()) : undefined;
    if (before) return before;
    const time = this.#plainTime();
    return time && this.#inOwnPeriod(time);
  }

  /** `quarter past 8`, `ten to nine`. */
  #partPast(): Time | undefined {
    const part = this.take('part', 'number');
    const joint = part && this.take('past', 'to');
    if (!part || !joint) return undefined;
    const plain = this.#plainTime();
    const time = plain?.minute === 0 ? this.#inOwnPeriod(plain) : undefined;
    if (!time) return undefined;
    const minutes = part.is === 'part' ? part.minutes : part.value;
    // `9 to 5`, `10 to 18` are spans of time, not times.
    const isSpan = joint.is === 'to' && part.is === 'number' && (minutes % 5 !== 0 || minutes > 25 || time.hour > 12);
    if (isSpan && time.period === undefined) return undefined;
    return minutes > 59 ? undefined : shifted(time, joint.is === 'past' ? minutes : -minutes);
  }

  #inOwnPeriod(time: Time & { half?: Period }): Time | undefined {
    const period = this.try(() => this.#ownPeriod()) ?? time.half;
    const within = inPeriod(time, period);
    return within && (period === undefined ? within : { ...within, period });
  }

  #plainTime(): (Time & { half?: Period }) | undefined {
    const token = this.take('time', 'number');
    if (!token) return undefined;
    const time = token.is === 'time' ? token : { hour: token.value, minute: 0 };
    // 24:00 is the next day's: on a given day nobody means its first minute.
    if (time.hour > 23 || time.minute > 59) return undefined;
    if (token.is === 'time') return time;
    // `8 și jumătate`, `8 fără un sfert`, `8 și 45`; `9 și 17` are two times.
    const minutes = this.try(() => this.#addedMinutes());
    return minutes === undefined ? time : shifted(time, minutes);
  }

  #addedMinutes(): number | undefined {
    // `8 jumate`.
    const joint = this.peek()?.is === 'part' ? { is: 'si' } : this.take('and', 'si', 'minus');
    const part = joint && this.take('part', 'number');
    if (!joint || !part) return undefined;
    if (part.is === 'number') {
      const unit = this.try(() => {
        this.skip('of');
        return this.unit(true);
      });
      if (unit !== undefined && unit !== 'minute') return undefined;
      if (part.value > 59 || (joint.is !== 'minus' && unit === undefined && part.value < 25)) return undefined;
    }
    const minutes = part.is === 'part' ? part.minutes : part.value;
    return joint.is === 'minus' ? -minutes : minutes;
  }

  #ownPeriod(): Period | undefined {
    this.skip('in', 'article', 'at', 'of');
    return this.take('period')?.period;
  }
}

/** True of what a time may begin with. */
export const isNumeric = (token: Token | undefined): boolean => token?.is === 'number' || token?.is === 'time';

function shifted<T extends Time>(time: T, minutes: number): T {
  const total = (time.hour * 60 + time.minute + minutes + 1440) % 1440;
  return { ...time, hour: Math.floor(total / 60), minute: total % 60 };
}

/** The time in a part of the day; undefined where it is not in it (`15 in the morning`). */
export function inPeriod({ hour, minute }: Time, period: Period | undefined): Time | undefined {
  const inHour = period === undefined ? hour : hours[period](hour);
  return inHour === undefined ? undefined : { hour: inHour, minute };
}

/** The hour of the day that an hour is in a part of it. */
const hours: Record<Period, (hour: number) => number | undefined> = {
  am: (hour) => (hour > 12 ? undefined : hour % 12),
  pm: (hour) => (hour > 12 || hour === 0 ? undefined : (hour % 12) + 12),
  morning: (hour) => (hour > 11 ? undefined : hour),
  afternoon: (hour) => (hour >= 12 ? (hour < 19 ? hour : undefined) : hour < 8 ? hour + 12 : undefined),
  evening: (hour) => (hour >= 16 ? hour : hour >= 4 && hour < 12 ? hour + 12 : undefined),
  night: (hour) => {
    if (hour === 12) return 0;
    if (hour >= 7 && hour < 12) return hour + 12;
    return hour < 7 || hour >= 19 ? hour : undefined;
  },
};
