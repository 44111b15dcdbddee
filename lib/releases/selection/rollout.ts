import { hash } from "node:crypto";
import type { Release } from "../schema";

/**
 * A client's position in a release's rollout, from 0 to 99.99 per cent: the first four bytes of the SHA-256 of both
 * ids. It is the same for every request and on every instance.
 */
export function rolloutBucket(releaseId: string, clientId: string): number {
  return (Number.parseInt(hash("sha256", releaseId + clientId).slice(0, 8), 16) % 10_000) / 100;
}

/** Whether a rollout includes a client. A higher `rollout` only adds clients; 0 includes none. */
export function isInRollout({ id, rollout }: Pick<Release, "id" | "rollout">, clientId: string): boolean {
  return rolloutBucket(id, clientId) < rollout;
}
