/** A response with APNs's reason (Apple, "Handling error responses from Apple Push Notification service"). */
export type Rejection = { status: number; reason: string };
export const reject = (status: number, reason: string): Rejection => ({ status, reason });

/** A reason, and whether the request has to be rejected for it. */
export type Check = readonly [reason: string, isWrong: boolean];

/** Returns the first rejection with a 400, or null. The checks are in the order of Apple's table of reasons. */
export function firstRejection(checks: readonly Check[]): Rejection | null {
  const [reason] = checks.find(([, isWrong]) => isWrong) ?? [];
  return reason === undefined ? null : reject(400, reason);
}
