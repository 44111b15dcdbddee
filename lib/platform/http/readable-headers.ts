/** Readable request headers, by lower-case names. */
export type ReadableHeaders = { get: (name: string) => string | null };
