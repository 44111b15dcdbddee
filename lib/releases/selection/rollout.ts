import { hash } from "node:crypto";
import type { Release } from "../schema";

/**
 * Where a client stands in a release's rollout: 0 to 99.99 per cent, the same at every call and on every
 * instance. SHA-256 of both ids, one after the other; the first four bytes count.
 */
export function rolloutBucket(releaseId: string, clientId: string): number {
  return (Number.parseInt(hash("sha256", releaseId + clientId).slice(0, 8), 16) % 10_000) / 100;
}

/** Whether a release has reached a client. Raising `rollout` only ever adds clients; 0 reaches nobody. */
export function isInRollout({ id, rollout }: Pick<Release, "id" | "rollout">, clientId: string): boolean {
  return rolloutBucket(id, clientId) < rollout;
}
