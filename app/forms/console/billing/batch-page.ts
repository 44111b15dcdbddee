/** What a request did of work that may take several, and where the next one continues. */
type Part = { progress: number; nextCursor: string | null };

/** The page of the inbox, which says how far the work has come: see `BatchProgress`. */
export function batchPage(
  batch: "replays" | "reconciliations" | "prune",
  { progress, nextCursor }: Part,
  shown: { failures?: number; only?: string } = {},
): string {
  const params = new URLSearchParams({ batch, share: progress.toFixed(3) });
  for (const [name, value] of Object.entries({ ...shown, at: nextCursor ?? undefined })) {
    if (value !== undefined) params.set(name, String(value));
  }
  return `/console/billing?${params}`;
}
