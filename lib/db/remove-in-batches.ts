/** The maximum number of rows that one statement removes, so that it holds its locks only briefly. */
export const REMOVAL_BATCH_SIZE = 1_000;
/** The maximum number of statements of one call. What is left is removed by the next call. */
const MAX_BATCHES = 1_000;

/**
 * Repeats a statement that removes up to `REMOVAL_BATCH_SIZE` rows, until it removes fewer: up to a million rows, so that
 * an hourly call keeps up with any load. Returns the number of rows.
 */
export async function removeInBatches(removeBatch: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (let i = 0; i < MAX_BATCHES; i++) {
    const count = await removeBatch();
    removed += count;
    if (count < REMOVAL_BATCH_SIZE) break;
  }
  return removed;
}
