/** A CDN in front of the feeds, whose requests arrive at random (a Poisson process). */
export type EdgeCache = {
  /** Requests a second of all clients together. */
  perSecond: number;
  /** Places in which the CDN keeps a copy each, and among which clients are spread evenly. */
  locations: number;
  /** Different feeds: products, platforms, architectures, channels. */
  feeds: number;
  /** `max-age` of the response. */
  maxAgeSeconds: number;
};

const SECONDS = 4 * 60 * 60;

/**
 * Simulates hours of requests, and returns the share that the CDN answers by itself. A copy is requested again by the first
 * request after it expires (RFC 9111, section 4.2). `random` returns numbers from 0 to 1.
 */
export function hitRate({ perSecond, locations, feeds, maxAgeSeconds }: EdgeCache, random: () => number): number {
  const perCopy = perSecond / (locations * feeds);
  const copies = Math.min(locations * feeds, 200); // all are alike: so many show the share
  let [requests, misses] = [0, 0];
  for (let copy = 0; copy < copies; copy++) {
    let now = 0;
    while (now < SECONDS) {
      now += -Math.log(1 - random()) / perCopy; // until the first request without a fresh copy
      if (now >= SECONDS) break;
      misses++;
      requests += 1 + poisson(perCopy * maxAgeSeconds, random);
      now += maxAgeSeconds;
    }
  }
  return requests === 0 ? 0 : 1 - misses / requests;
}

/** The number of requests within a time in which `mean` are expected (Knuth; for large means, by the normal distribution). */
function poisson(mean: number, random: () => number): number {
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count++;
  return count;
}
