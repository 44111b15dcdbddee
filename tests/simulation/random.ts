/** A generator of pseudo-random numbers (sfc32, of PractRand): the same seeds give the same numbers on every machine. */
export type Random = ReturnType<typeof createRandom>;

export function createRandom(...seeds: number[]) {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 1];
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return t >>> 0;
  };
  for (const seed of seeds) {
    a ^= seed | 0;
    b ^= Math.floor(seed / 2 ** 32) | 0;
    for (let i = 0; i < 12; i++) next();
  }
  const random = {
    /** From 0 to 1, without 1. */
    float: () => next() / 2 ** 32,
    /** An integer below `limit`. */
    below: (limit: number) => Math.floor((next() / 2 ** 32) * limit),
    chance: (probability: number) => next() / 2 ** 32 < probability,
    pick: <T>(items: readonly T[]): T => items[random.below(items.length)] as T,
    /** One of the entries, each as often as its weight says. */
    weighted: <T extends { weight: number }>(entries: readonly T[]): T => {
      let left = random.float() * entries.reduce((sum, { weight }) => sum + weight, 0);
      for (const entry of entries) {
        left -= entry.weight;
        if (left < 0) return entry;
      }
      return entries.at(-1) as T;
    },
    shuffle: <T>(items: readonly T[]): T[] => {
      const shuffled = [...items];
      for (let i = shuffled.length - 1; i > 0; i--) {
        const j = random.below(i + 1);
        [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
      }
      return shuffled;
    },
    uuid: () => {
      const hex = Array.from({ length: 8 }, () => (next() & 0xffff).toString(16).padStart(4, "0"));
      return `${hex[0]}${hex[1]}-${hex[2]}-4${hex[3]?.slice(1)}-8${hex[4]?.slice(1)}-${hex[5]}${hex[6]}${hex[7]}`;
    },
    bytes: (target: Uint8Array) => {
      for (let i = 0; i < target.length; i++) target[i] = next() & 255;
    },
  };
  return random;
}
