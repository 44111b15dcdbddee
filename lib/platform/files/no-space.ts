const CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);

/** Whether a file could not be written because its disk is full, or a quota is used up. */
export const isNoSpace = (error: unknown): boolean => CODES.has((error as NodeJS.ErrnoException | null)?.code);
