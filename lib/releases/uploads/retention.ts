/** How long an upload is kept after its last byte has arrived. */
export const UPLOAD_RETENTION_MS = 24 * 60 * 60 * 1000;

/** Whether an upload that was last written then has expired. */
export function isExpired(writtenAt: Date, now: Date): boolean {
  return now.getTime() - writtenAt.getTime() > UPLOAD_RETENTION_MS;
}
