import { v7 } from "uuid";

/** Random values that are the same in every run with the same seed. */
export type Random = {
  /** From 0 to 1, without 1. */
  next: () => number;
  /** From 0 to `below`, without it. */
  integer: (below: number) => number;
  chance: (probability: number) => boolean;
  pick: <T>(values: readonly [T, ...T[]]) => T;
  /** A version 7 UUID (RFC 9562, section 5.7) of this time. */
  id: (at: Date) => string;
  hex: (characters: number) => string;
  /** 1, then 2, and so on: for what has to be unique. */
  serial: () => number;
};

/** Mulberry32, by Tommy Ettinger: 32 bits of state are enough for data to look at. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  let drawn = 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (below: number) => Math.floor(next() * below);
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick: (values) => values[integer(values.length)] ?? values[0],
    id: (at) => v7({ msecs: at.getTime(), random: Uint8Array.from({ length: 16 }, () => integer(256)) }),
    hex: (characters) => Array.from({ length: characters }, () => integer(16).toString(16)).join(""),
    serial: () => {
      drawn += 1;
      return drawn;
    },
  };
}
