/** How long an upload is kept after its last byte has arrived. */
const RETENTION_MS = 24 * 60 * 60 * 1000;

/** When an upload expires that was last written at `writtenMs`. */
export const expiryOf = (writtenMs: number): Date => new Date(writtenMs + RETENTION_MS);
