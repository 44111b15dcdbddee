import { hash } from "node:crypto";
import type { Release } from "../schema";

/**
 * A client's position in a release's rollout, from 0 to 99.99 percent: the first four bytes of the SHA-256 of both
 * ids. It is the same for every request and on every instance.
 */
export function rolloutBucket(releaseId: string, clientId: string): number {
  return (Number.parseInt(hash("sha256", releaseId + clientId).slice(0, 8), 16) % 10_000) / 100;
}

type Rollout = Pick<Release, "id" | "rollout"> & Partial<Pick<Release, "rolloutSeries">>;

/**
 * Whether a rollout includes a client. A higher `rollout` only adds clients; 0 includes none. Releases of one series
 * include the same clients first.
 */
export function isInRollout({ id, rollout, rolloutSeries }: Rollout, clientId: string): boolean {
  return rolloutBucket(rolloutSeries ?? id, clientId) < rollout;
}
