import DataLoader from "dataloader";
import { perObject } from "../per-object";
import type { Tx } from "./transaction";

const MAX_KEYS = 100;

/**
 * Returns a function that reads one key, and batches the reads: one statement reads all keys requested in the same turn
 * of the event loop, because under load a statement costs more than its rows. `readMany` receives each key once and
 * returns the rows by key. If it fails, every read of the batch rejects.
 */
export function batchLoad<Row>(
  readMany: (db: Tx, keys: string[]) => Promise<ReadonlyMap<string, Row>>,
): (db: Tx, key: string) => Promise<Row | undefined> {
  const loaderOf = perObject((db: Tx) => {
    const read = async (keys: readonly string[]) => {
      const found = await readMany(db, [...new Set(keys)]);
      return keys.map((key) => found.get(key));
    };
    // setImmediate runs after all ready sockets have been read; process.nextTick would run after each of them.
    const batchScheduleFn = (run: () => void) => void setImmediate(run);
    return new DataLoader(read, { cache: false, maxBatchSize: MAX_KEYS, batchScheduleFn });
  });
  return (db, key) => loaderOf(db).load(key);
}
